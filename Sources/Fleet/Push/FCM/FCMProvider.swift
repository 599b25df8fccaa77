import Fleet
import HTTPClient

extension Provider {
    /// FCM's HTTP v1 API, for the project of a service account.
    /// - Parameters:
    ///   - baseURL: normally `https://fcm.googleapis.com`; without a trailing slash.
    ///   - caFile: a PEM file to trust instead of the system's certificates, also for access tokens; empty: the
    ///     system's.
    package static func fcm(baseURL: String, account: ServiceAccount, caFile: String = "") -> Provider {
        // FCM allows 100 streams on each connection (observed, not documented).
        let rules = LaneRules(windowMax: 400)
        var options = HTTPPool.Options()
        options.connectionsPerHost = 4
        options.streamsPerConnection = rules.windowMax / options.connectionsPerHost
        // FCM closes connections that were idle for four minutes (observed, not documented).
        options.idleSecondsMax = 230
        // Plain HTTP is used only to fetch access tokens from a server on this machine: ServiceAccount checks
        // `token_uri`, and `baseURL` is https.
        options.allowsPlainHTTP = true
        options.caFile = caFile
        let address = FCMAddress(baseURL: baseURL, projectID: account.projectID)
        return Provider(
            lane: .fcm, rules: rules, poolOptions: options,
            makeRequest: { message, device, authorization, now in
                address.request(message, to: device, at: now, authorization: authorization)
            },
            parseResponse: { SendResult(fcm: $0, sentAt: $1, now: $2) },
            makeCredential: { FCMCredential(account: account) })
    }
}

/// FCM's access token, fetched with the service account's signed assertion.
struct FCMCredential: ProviderCredential {
    let account: ServiceAccount
    private var token = FCMAccessToken()
    /// Whether a valid token existed at the last check, so that its expiry is reported only once.
    private var wasValid = false

    init(account: ServiceAccount) { self.account = account }

    var isAvailableAtStart: Bool { false }

    func nextTurn(at time: CredentialTime) -> Int64 {
        guard let turn = token.nextTurn else { return .max }
        return turn == .min ? time.clock : time.clock + (turn - time.tick)
    }

    mutating func use(at time: CredentialTime) -> IssuedCredential? { token.use(at: time.tick) }

    mutating func renew(after generation: Int, at time: CredentialTime) -> [CredentialEvent] {
        switch token.requestRenewal(after: generation, at: time.tick) {
        case .requested:
            wasValid = false  // `update` then reports no expiry: `handle` will report the result of the fetch
            return []
        case .alreadyRenewed: return [.update(.ready)]
        case .tooSoon: return [.update(.refused(reason: "FCM also refuses a new access token"))]
        }
    }

    mutating func update(at time: CredentialTime) -> (events: [CredentialEvent], fetch: HTTPClientRequest?) {
        var events: [CredentialEvent] = []
        if wasValid, token.current(at: time.tick) == nil {
            wasValid = false
            events.append(.update(token.isExpected ? .missing(reason: "the access token has expired") : .expired))
        }
        return (events, token.claimFetch(at: time.tick) ? account.tokenRequest(at: time.clock) : nil)
    }

    mutating func handle(
        _ result: Result<HTTPClientResponse, HTTPClientError>, at time: CredentialTime,
        using rng: inout some RandomNumberGenerator
    ) -> [CredentialEvent] {
        let outcome = token.handle(AccessTokenResponse(result), at: time.tick, using: &rng)
        wasValid = token.current(at: time.tick) != nil
        switch outcome {
        case .renewed: return [.renewed(kind: "fcm_oauth"), .update(.ready)]
        case .refused(let text):
            let reason = "no access token: \(text)"
            if wasValid { return [.update(.renewalFailed(reason: reason))] }
            return [.update(.missing(reason: reason)), .update(.refused(reason: reason))]
        case .delayed(let text):
            return wasValid ? [] : [.update(.missing(reason: "no access token yet: \(text)"))]
        }
    }

    mutating func connectionsRetired() {}
}
