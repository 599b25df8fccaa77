import Fleet
import HTTPClient

extension Provider {
    /// APNs, in one of its environments.
    /// - Parameters:
    ///   - lane: `.apns` or `.apnsSandbox`.
    ///   - token: the provider token. Both environments must get the same object, because they share the token.
    ///   - caFile: a PEM file to trust instead of the system's certificates; empty: the system's.
    package static func apns(
        lane: PushLane = .apns, _ address: APNsAddress, token: APNsToken, caFile: String = ""
    ) -> Provider {
        precondition(lane.provider == .apns, "Provider.apns: \(lane.rawValue) is not a lane of APNs")
        // APNs typically allows one stream on a connection that has not accepted a token yet, and 1,000 afterwards.
        let rules = LaneRules(windowMax: 1_000)
        var options = HTTPPool.Options()
        // One connection carries all requests. When APNs is closing it, a second one replaces it, perhaps before the
        // first is closed.
        options.connectionsPerHost = 2
        options.streamsPerConnection = rules.windowMax
        options.requiresHTTP2 = true
        options.caFile = caFile
        return Provider(
            lane: lane, rules: rules, poolOptions: options,
            makeRequest: { message, device, authorization, _ in
                address.request(message, to: device, authorization: authorization)
            },
            parseResponse: { SendResult(apns: $0, sentAt: $1, now: $2) },
            makeCredential: { APNsCredential(token: token) })
    }
}

/// One lane's use of the shared ``APNsToken``. Tokens are signed locally, so none is ever fetched.
struct APNsCredential: ProviderCredential {
    let token: APNsToken
    /// The first token generation that the present connections carried; nil if none.
    private var firstGeneration: Int?

    init(token: APNsToken) { self.token = token }

    var isAvailableAtStart: Bool { true }

    func nextTurn(at time: CredentialTime) -> Int64 { .max }

    mutating func use(at time: CredentialTime) -> IssuedCredential? {
        let issued = token.current(at: time)
        firstGeneration = firstGeneration ?? issued.generation
        return issued
    }

    mutating func renew(after generation: Int, at time: CredentialTime) -> [CredentialEvent] {
        guard token.renew(after: generation, at: time) == nil else { return [.update(.ready)] }
        let minutes = APNsTokenAge.interval / 60_000
        let reason = "APNs refuses a provider token less than \(minutes) minutes old as expired: check the clock"
        return [.update(.refused(reason: reason))]
    }

    mutating func update(at time: CredentialTime) -> (events: [CredentialEvent], fetch: HTTPClientRequest?) {
        var events: [CredentialEvent] = []
        if token.drainRenewed() { events.append(.renewed(kind: "apns_jwt")) }
        if let generation = firstGeneration, token.outdatesConnections(withGeneration: generation, at: time) {
            firstGeneration = nil  // reported once
            events.append(.connectionsOutdated(reason: "the clock was set, and the provider token has to be issued again"))
        }
        return (events, nil)
    }

    mutating func handle(
        _ result: Result<HTTPClientResponse, HTTPClientError>, at time: CredentialTime,
        using rng: inout some RandomNumberGenerator
    ) -> [CredentialEvent] { [] }

    mutating func connectionsRetired() { firstGeneration = nil }
}
