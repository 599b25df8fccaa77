import FleetRules
import HTTPClient
import Threads

/// The connections to one provider, and what proves to it who we are. It belongs to the thread that made it.
final class ProviderConnection {
    /// A request for an access token travels with the notifications; jobs count from 1.
    private static let tokenTag = -1

    /// Something that has happened on the way.
    enum Event {
        case completed(Lane.Completion)
        /// It was not on the wire yet, and never will be.
        case withdrawn(Int64)
        case credential(Lane.CredentialUpdate)
        case renewed(CredentialKind)
        /// The connections must not be used for what comes next.
        case outdated(reason: String)
    }

    /// What is proved by.
    private enum Credential {
        case apns(APNsAddress, APNsToken)
        case fcm(FCMAddress, ServiceAccount, FCMToken)
    }

    private let pool: HTTPPool
    private var credential: Credential
    /// By job: with the token of which generation it went, when, and to which device.
    private var sent: [Int: (credential: Int, at: Int64, device: String)] = [:]
    /// Of the provider tokens that the present connections have seen, the first one's generation.
    private var firstSeen: Int?
    /// Whether there was an access token when that was last asked.
    private var hadToken = false
    private var events: [Event] = []
    /// The time on the clock that nobody sets, by which access tokens grow old: as of this turn, so that what was found good
    /// at its beginning is good until its end.
    private var tick = Clock.monotonicMilliseconds()

    init(_ settings: ProviderSettings, _ rules: LaneRules) {
        var options = HTTPPool.Options()
        options.sendBufferBytes = 4_194_304
        options.timeoutMilliseconds = Int(rules.requestTime)
        switch settings {
        case .apns(let settings):
            // The second one is for when the provider leaves the first; a crowd stays on one.
            options.connectionsPerHost = 2
            options.streamsPerConnection = rules.windowMax
            options.requiresHTTP2 = true
            options.caFile = settings.caFile
            credential = .apns(settings.address, settings.token)
        case .fcm(let settings):
            options.connectionsPerHost = 4
            options.streamsPerConnection = max(1, rules.windowMax / 4)
            // It closes what has been idle for four minutes (PUSH.md section 2).
            options.idleSecondsMax = 230
            // Of this machine only, and only for access tokens: their address has been checked, and the base's is https.
            options.allowsPlainHTTP = true
            options.caFile = settings.caFile
            credential = .fcm(
                FCMAddress(baseURL: settings.baseURL, projectID: settings.account.projectID), settings.account, FCMToken())
        }
        pool = HTTPPool(options)
    }

    var waker: HTTPPool.Waker { pool.waker }

    /// Whether requests can be sent before any happening.
    var hasCredential: Bool {
        if case .apns = credential { true } else { false }
    }

    /// When there is something to do by itself: milliseconds since 1970.
    func nextTurn(at now: Int64) -> Int64 {
        guard case .fcm(_, _, let token) = credential, let turn = token.nextTurn else { return .max }
        return turn == .min ? now : now + (turn - tick)
    }

    func wait(milliseconds: Int) { pool.wait(milliseconds: milliseconds) }

    /// Sees to the credential, takes in what has come, and returns all that has happened.
    func turn(at now: Int64, using dice: inout some RandomNumberGenerator) -> [Event] {
        tick = Clock.monotonicMilliseconds()
        for completion in pool.perform() { take(completion, now, &dice) }
        return complete(now)
    }

    /// Throws the connections away; returns how what was in flight has ended.
    func retire(at now: Int64, using dice: inout some RandomNumberGenerator) -> [Event] {
        firstSeen = nil
        for completion in pool.retire() { take(completion, now, &dice) }
        return complete(now)
    }

    /// Takes back what is not on the wire yet of what is for some devices.
    func withdraw(_ devices: Set<String>) -> [Event] {
        let tags = Set(sent.filter { devices.contains($0.value.device) }.keys)
        guard !tags.isEmpty else { return [] }
        return pool.withdraw(tags).map { tag in
            sent[tag] = nil
            return .withdrawn(Int64(tag))
        }
    }

    /// Begins a request, which needs a credential: see ``Happening``.
    func send(_ job: PushJob, _ message: PushMessage, at now: Int64) {
        let tag = Int(job.number)
        guard let credential = self.credential(at: now) else { preconditionFailure("a lane that knows of no credential sends") }
        sent[tag] = (credential.generation, now, job.device.id)
        switch self.credential {
        case .apns(let address, _):
            firstSeen = firstSeen ?? credential.generation
            pool.start(address.request(message, to: job.device, authorization: credential.authorization), tag: tag)
        case .fcm(let address, _, _):
            pool.start(address.request(message, to: job.device, at: now, authorization: credential.authorization), tag: tag)
        }
    }

    /// There is need of a credential that is newer than that of a generation.
    func renew(after generation: Int, at now: Int64, using dice: inout some RandomNumberGenerator) -> [Event] {
        switch credential {
        case .apns(_, let token):
            if token.renewed(after: generation, at: time(now)) != nil {
                events.append(.credential(.ready))
            } else {
                let minutes = APNsTokenAge.interval / 60_000
                events.append(
                    .credential(
                        .refused(reason: "a provider token less than \(minutes) minutes old is too old: is the clock right?")))
            }
        case .fcm(let address, let account, var token):
            let demand = token.demand(after: generation, at: tick)
            credential = .fcm(address, account, token)
            switch demand {
            case .asked: hadToken = false  // there will be news
            case .replaced: events.append(.credential(.ready))
            case .tooSoon: events.append(.credential(.refused(reason: "new access tokens are refused as well")))
            }
        }
        return complete(now)
    }

    // MARK: Credentials

    private func time(_ now: Int64) -> APNsTokenTime { APNsTokenTime(clock: now, tick: tick) }

    private func credential(at now: Int64) -> IssuedCredential? {
        switch credential {
        case .apns(_, let token): return token.current(at: time(now))
        case .fcm(let address, let account, var token):
            let issued = token.use(at: tick)
            credential = .fcm(address, account, token)
            return issued
        }
    }

    /// Asks for an access token if it is time, and says so if there is none any more.
    private func complete(_ now: Int64) -> [Event] {
        switch credential {
        case .apns(_, let token):
            if token.takeNews() { events.append(.renewed(.apnsToken)) }
            if let generation = firstSeen, token.isTooSoon(after: generation, at: time(now)) {
                firstSeen = nil  // said once
                events.append(.outdated(reason: "the clock was set, and the provider token is made anew"))
            }
        case .fcm(let address, let account, var token):
            if hadToken, token.current(at: tick) == nil {
                hadToken = false
                events.append(.credential(token.isComing ? .missing(reason: "the access token has run out") : .expired))
            }
            if token.claimRenewal(at: tick) { pool.start(account.tokenRequest(at: now), tag: Self.tokenTag, isFirst: true) }
            credential = .fcm(address, account, token)
        }
        defer { events = [] }
        return events
    }

    // MARK: Answers

    private func take(_ completion: HTTPPool.Completion, _ now: Int64, _ dice: inout some RandomNumberGenerator) {
        if completion.tag == Self.tokenTag { return takeToken(completion.result, now, &dice) }
        guard let sent = sent.removeValue(forKey: completion.tag) else { return }
        events.append(
            .completed(
                Lane.Completion(
                    number: Int64(completion.tag), result: completion.result.map { verdict($0, sent.at, now) },
                    seconds: completion.seconds, credential: sent.credential)))
    }

    private func verdict(_ reply: HTTPClientResponse, _ sentAt: Int64, _ now: Int64) -> SendResult {
        switch credential {
        case .apns: SendResult(apns: reply, sentAt: sentAt, now: now)
        case .fcm: SendResult(fcm: reply, sentAt: sentAt, now: now)
        }
    }

    private func takeToken(
        _ result: Result<HTTPClientResponse, HTTPClientError>, _ now: Int64, _ dice: inout some RandomNumberGenerator
    ) {
        guard case .fcm(let address, let account, var token) = credential else { return }
        let outcome = token.take(AccessTokenResponse(result), at: tick, using: &dice)
        credential = .fcm(address, account, token)
        let isServed = token.current(at: tick) != nil
        hadToken = isServed
        switch outcome {
        case .renewed: events += [.renewed(.fcmAccess), .credential(.ready)]
        case .refused(let words):
            let reason = "no access token: \(words)"
            if isServed {
                events.append(.credential(.renewalFailed(reason: reason)))
            } else {
                events += [.credential(.missing(reason: reason)), .credential(.refused(reason: reason))]
            }
        case .delayed(let words):
            if !isServed { events.append(.credential(.missing(reason: "no access token yet: \(words)"))) }
        }
    }
}
