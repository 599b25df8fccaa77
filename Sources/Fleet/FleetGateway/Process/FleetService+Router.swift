import Access
import Configuration
import Console
import Fleet
import JWT
import Push
import PusherAPI
import Realtime
import Server

/// What the fleet does on one loop's thread.
extension FleetService {
    func makeNodeExtension(_ apps: [Application], loop: Int) throws(StartError) -> any NodeExtension {
        FleetNode(self, try makeRouter(of: apps[app]), loop: loop)
    }

    /// The fleet API's router for one loop, with its own keys.
    /// - Throws: ``StartError`` if a configured public key is invalid.
    private func makeRouter(of app: Application) throws(StartError) -> FleetRouter {
        let (fleet, rates, accounts, activity, endedSessions) = (self, rates, accounts, activity, endedSessions)
        do throws(TokenIssuerError) {
            let verifier = try TokenVerifier(
                issuers: issuers, keyCache: keyCache, isEnded: { endedSessions.contains($0) })
            let cookies = settings.auth.jwt.map(\.cookie).filter { !$0.isEmpty }
            var lookUp: (@Sendable (OpaqueToken) -> VerificationResult?)?
            if let introspection { lookUp = { introspection.lookUp($0) } }
            return FleetRouter(
                app: app,
                authenticator: Authenticator(
                    verifier: verifier, cookies: cookies, sessions: SessionCookies(settings.auth.session),
                    origins: app.origins, lookUp: lookUp, noteMissing: { fleet.noteMissing(setting: $0) }),
                metricsToken: settings.metrics.token, isCatalogued: { fleet.isCatalogued($0) }, isTimeZone: LocalTime.isKnown,
                isPushedAs: { fleet.isPushedAs($0) }, console: console,
                accounts: settings.accounts.isEnabled
                    ? AccountCheck(
                        countryCode: settings.accounts.countryCode, seen: { activity.record($0) },
                        entry: { accounts.entry(ofUser: $0) }) : nil,
                summaries: SummarySettings(settings.accounts),
                codeCountries: settings.otp.isEnabled ? settings.otp.countries : nil,
                permits: { rates.permits($0, $1) }, charge: { rates.charge($0, commands: $1) })
        } catch {
            throw StartError("use auth.jwt: \(error)", isConfiguration: true)
        }
    }

    /// The operators' page; nil if it is off.
    private var console: ConsolePage? {
        guard settings.console.isEnabled else { return nil }
        return ConsolePage(
            key: settings.apps[app].key, tileURL: settings.console.tileURL, pathPrefix: settings.server.pathPrefix)
    }
}
