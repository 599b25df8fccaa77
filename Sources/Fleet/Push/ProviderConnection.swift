import Fleet
import HTTPClient
import Threads

/// The connections to one provider and the credential for them. Owned by the thread that created it.
final class ProviderConnection {
    /// The tag of credential fetches in the pool. The tag of a job's request is the job's number, which is at least 1.
    private static let credentialTag = -1

    /// An event that the lane has to handle.
    enum Event {
        case completed(Lane.Completion)
        /// The request of the job with this number was withdrawn before it was written. It has no other result.
        case withdrawn(Int64)
        case credential(CredentialEvent)
    }

    private struct SentRequest {
        /// The generation of the credential that the request carries.
        let credential: Int
        /// When the request was sent: milliseconds since 1970.
        let at: Int64
        let deviceID: String
    }

    private let provider: Provider
    private let pool: HTTPPool
    private var credential: any ProviderCredential
    /// Requests without a result, by job number.
    private var sent: [Int: SentRequest] = [:]
    /// Monotonic milliseconds, read only once per turn: a credential that is valid at the start of a turn then stays
    /// valid during the whole turn.
    private var tick = Clock.monotonicMilliseconds()

    init(_ provider: Provider) {
        var options = provider.poolOptions
        options.sendBufferBytes = 4_194_304  // enough for a burst of several hundred pushes of maximum size
        options.timeoutMilliseconds = Int(provider.rules.requestTime)
        self.provider = provider
        pool = HTTPPool(options)
        credential = provider.makeCredential()
    }

    var waker: HTTPPool.Waker { pool.waker }

    /// Whether a credential is available from the start. If not, the lane cannot send before the first
    /// ``Event/credential(_:)``.
    var hasInitialCredential: Bool { credential.isAvailableAtStart }

    /// When ``turn(at:using:)`` has work to do even if no response arrives: milliseconds since 1970; `.max` if never.
    func nextTurn(at now: Int64) -> Int64 { credential.nextTurn(at: time(now)) }

    func wait(milliseconds: Int) { pool.wait(milliseconds: milliseconds) }

    /// Reads and writes, renews the credential if due, and returns all events.
    func turn(at now: Int64, using rng: inout some RandomNumberGenerator) -> [Event] {
        tick = Clock.monotonicMilliseconds()
        let events = pool.perform().flatMap { handle($0, now, &rng) }
        return events + updateCredential(now)
    }

    /// Closes all connections. Returns how the requests in flight ended.
    func retire(at now: Int64, using rng: inout some RandomNumberGenerator) -> [Event] {
        credential.connectionsRetired()
        let events = pool.retire().flatMap { handle($0, now, &rng) }
        return events + updateCredential(now)
    }

    /// Withdraws those requests that are not written yet.
    /// - Parameter deviceIDs: only those for these devices; nil: all.
    func withdraw(_ deviceIDs: Set<String>? = nil) -> [Event] {
        let tags = Set(sent.filter { deviceIDs?.contains($0.value.deviceID) ?? true }.keys)
        guard !tags.isEmpty else { return [] }
        return pool.withdraw(tags).map { tag in
            sent[tag] = nil
            return .withdrawn(Int64(tag))
        }
    }

    /// Starts a request.
    /// - Precondition: a credential is valid; ``Event/credential(_:)`` reports when.
    func send(_ job: PushJob, _ message: PushMessage, at now: Int64) {
        guard let issued = credential.use(at: time(now)) else {
            preconditionFailure("ProviderConnection.send was called without a valid credential")
        }
        let tag = Int(job.number)
        sent[tag] = SentRequest(credential: issued.generation, at: now, deviceID: job.device.id)
        pool.start(provider.makeRequest(message, job.device, issued.authorization, now), tag: tag)
    }

    /// Requests a credential newer than that of `generation`. If `generation` is -1, any valid credential will do.
    func renewCredential(after generation: Int, at now: Int64) -> [Event] {
        let events = credential.renew(after: generation, at: time(now)).map(Event.credential)
        return events + updateCredential(now)
    }

    // MARK: Credential

    private func time(_ now: Int64) -> CredentialTime { CredentialTime(clock: now, tick: tick) }

    private func updateCredential(_ now: Int64) -> [Event] {
        let (events, fetch) = credential.update(at: time(now))
        if let fetch { pool.start(fetch, tag: Self.credentialTag, skipsQueue: true) }
        return events.map(Event.credential)
    }

    // MARK: Responses

    private func handle(
        _ completion: HTTPPool.Completion, _ now: Int64, _ rng: inout some RandomNumberGenerator
    ) -> [Event] {
        if completion.tag == Self.credentialTag {
            return credential.handle(completion.result, at: time(now), using: &rng).map(Event.credential)
        }
        guard let sent = sent.removeValue(forKey: completion.tag) else { return [] }
        let completion = Lane.Completion(
            number: Int64(completion.tag),
            result: completion.result.map { provider.parseResponse($0, sent.at, now) },
            seconds: completion.seconds, credential: sent.credential)
        return [.completed(completion)]
    }
}
