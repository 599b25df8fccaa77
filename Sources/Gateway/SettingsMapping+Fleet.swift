import Access
import Configuration
import JWT
import Observability

/// From what the operator wrote to what the modules understand.
extension Settings.Auth {
    /// Who may vouch for people, Firebase last.
    package var issuers: [TokenIssuer] {
        var issuers = jwt.filter(\.isEnabled).map(TokenIssuer.init)
        if firebase.isEnabled {
            issuers.append(
                .firebase(
                    projectID: firebase.projectID, certificatesURL: firebase.certificatesURL, role: Role(firebase.role)))
        }
        return issuers
    }
}

extension Settings {
    /// Which key's value cannot be used and why, which reading the configuration alone does not show; nil when all can.
    package var keyError: (key: String, problem: String)? {
        do throws(TokenIssuerError) {
            _ = try TokenVerifier(issuers: auth.issuers, ring: IssuerKeyCache(issuers: auth.issuers))
        } catch {
            return ("auth.jwt.public_key", error.description)
        }
        do throws(CredentialError) {
            _ = try push.providers()
        } catch {
            return (error.key, error.problem)
        }
        return nil
    }
}

extension Settings {
    /// Says what works and had better not stay so.
    func warn(in log: Observability.Log) {
        for rule in channels where rule.access == .open {
            log.warning(
                "open_fleet_channel",
                [
                    "pattern": .text(rule.pattern),
                    "meaning": "anybody may subscribe to it: choose another access once all apps sign",
                ])
        }
        for issuer in auth.jwt where issuer.isEnabled && !issuer.secret.isEmpty && issuer.secret.utf8.count < 32 {
            log.warning(
                "short_token_secret", ["issuer": .text(issuer.issuer), "meaning": "a secret below 32 bytes can be guessed"])
        }
    }
}

extension TokenIssuer {
    fileprivate init(_ jwt: Settings.JWT) {
        let keys: Keys =
            if !jwt.secret.isEmpty {
                .secret(jwt.secret)
            } else if !jwt.publicKey.isEmpty {
                .pem(jwt.publicKey)
            } else {
                .remote(url: jwt.jwksURL, .jwks)
            }
        self.init(
            algorithm: TokenAlgorithm(jwt.algorithm), keys: keys, issuer: jwt.issuer, audience: jwt.audience)
    }
}

extension TokenAlgorithm {
    fileprivate init(_ algorithm: Settings.JWT.Algorithm) {
        self =
            switch algorithm {
            case .hs256: .hs256
            case .rs256: .rs256
            case .es256: .es256
            }
    }
}

extension Role {
    fileprivate init(_ role: Settings.Role) {
        self =
            switch role {
            case .driver: .driver
            case .admin: .admin
            case .customer: .customer
            case .ops: .ops
            }
    }
}

extension ChannelPolicy {
    init(_ rules: [Settings.ChannelRule]) { self.init(rules.map { Rule($0.pattern, Access($0.access)) }) }
}

extension ChannelPolicy.Access {
    fileprivate init(_ access: Settings.ChannelRule.Access) {
        self =
            switch access {
            case .open: .open
            case .ownDriver: .ownDriver
            case .anyDriver: .anyDriver
            case .admin: .admin
            case .booking: .booking
            case .ownCustomer: .ownCustomer
            }
    }
}
