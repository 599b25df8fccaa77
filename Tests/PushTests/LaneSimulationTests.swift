import Fleet
import HTTPClient
import TestSupport
import Testing

@testable import Push

/// A correct store, a faulty provider, and the lane between them.
private struct LaneWorld {
    enum State: Equatable {
        case waiting(dueAt: Int64)
        case leased
    }

    /// The most requests in flight: few or many, depending on the seed. A narrow window is often full; with a wide one,
    /// many jobs are leased when a fault occurs.
    let windowMax: Int
    let seed: UInt64
    var rng: SplitMix
    /// Relative frequency of each result, by its number in ``result(of:)``.
    var weights: [Int]
    var lane: Lane
    var now: Int64 = 1_000_000
    /// The state of each job that has not ended, by job number.
    var states: [Int64: State] = [:]
    var jobs: [Int64: PushJob] = [:]
    /// The number of the next job.
    var next: Int64 = 1
    /// The job of each request in flight, by job number.
    var inFlight: [Int64: PushJob] = [:]
    /// The report to which the store has not replied yet.
    var underway: PushReport?
    /// Devices that the store has removed.
    var removed: Set<String> = []
    /// Devices that the store has quarantined.
    var quarantined: Set<String> = []
    var isFinished = false
    var accepted = 0
    /// The generation of the newest credential.
    var credential = 0
    var problems: [String] = []

    init(seed: UInt64) {
        self.seed = seed
        windowMax = seed.isMultiple(of: 2) ? 3 : 16
        rng = SplitMix(seed: seed)
        // Each world has its own mix of faults.
        weights = (0..<18).map { _ in 0 }
        weights[0] = 60
        for index in 1..<18 where Bool.random(using: &rng) { weights[index] = Int.random(in: 1...12, using: &rng) }
        var rules = LaneRules(windowMax: windowMax)
        rules.failuresMax = 4
        lane = Lane(.apns, rules, hasCredential: true, at: now)
    }

    mutating func expect(_ isTrue: Bool, _ problem: String) {
        if !isTrue { problems.append("seed \(seed), \(now) ms: \(problem)") }
    }

    // MARK: One step

    /// - Parameter isCalm: whether the step queues no jobs and causes no faults.
    mutating func step(isCalm: Bool) {
        let kind = Int.random(in: 0..<10, using: &rng)
        switch kind {
        case 0..<2 where !isCalm: queue(Int.random(in: 1...12, using: &rng))
        case 0..<6: completeSome(isCalm)
        case 6..<8: replyToReport(isCalm)
        default: now += Int64.random(in: 0...3_000, using: &rng)
        }
        if !isCalm, Int.random(in: 0..<200, using: &rng) == 0 { now -= 20_000 }
        if !isCalm, Int.random(in: 0..<100, using: &rng) == 0 {
            lane.handle(.connectionsOutdated(reason: "clock"), at: now, using: &rng)
        }
        if !isCalm, Int.random(in: 0..<20, using: &rng) == 0 {
            lane.handle(.lost(devices: ["device-\(Int.random(in: 0..<12, using: &rng))"]), at: now, using: &rng)
        }
        performEffects()
        check()
    }

    mutating func queue(_ count: Int) {
        for _ in 0..<count {
            let device = "device-\(Int.random(in: 0..<12, using: &rng))"
            let expiresAt = Int.random(in: 0..<10, using: &rng) == 0 ? now + 3_000 : now + 100_000_000
            let job = LaneFixture.job(next, device: removed.contains(device) ? device + "-\(next)" : device, expiresAt: expiresAt)
            jobs[next] = job
            states[next] = .waiting(dueAt: now)
            next += 1
        }
        lane.handle(.wake, at: now, using: &rng)
    }

    mutating func performEffects() {
        for _ in 0..<10 {
            let decide = { [now] (job: PushJob) -> PushDecision in
                if job.notification.expiresAt <= now { return .expired }
                return job.number % 17 == 0 ? .cancelled(reason: "off") : .send(LaneFixture.message(of: job))
            }
            var hasMore = false
            for effect in lane.nextEffects(at: now, using: &rng, deciding: decide) {
                hasMore = perform(effect) || hasMore
            }
            if !hasMore { return }
        }
        expect(false, "the lane still has effects after ten turns")
    }

    /// Performs an effect. Returns true if this caused an input to the lane, so that the lane may have further effects.
    mutating func perform(_ effect: Lane.Effect) -> Bool {
        expect(!isFinished, "effects after the lane has finished")
        switch effect {
        case .retireConnections:
            for number in inFlight.keys.sorted() {
                complete(number, .failure(Bool.random(using: &rng) ? .lost("retired") : .notSent("retired")))
            }
            return true
        case .send(let job, _):
            expect(inFlight[job.number] == nil, "\(job.number) is in flight twice")
            expect(states[job.number] == .leased, "\(job.number) is sent without a lease")
            expect(!removed.contains(job.device.id), "\(job.number) is sent to a removed device")
            expect(!quarantined.contains(job.device.id), "\(job.number) is sent to a quarantined device")
            inFlight[job.number] = job
        case .renewCredential(let generation):
            if generation < credential || Bool.random(using: &rng) {
                credential = max(credential, generation + 1)
                lane.handle(.credential(.ready), at: now, using: &rng)
            } else {
                lane.handle(.credential(.refused(reason: "too soon")), at: now, using: &rng)
            }
            return true
        case .report(let report):
            expect(underway == nil, "two reports are under way")
            expect(report.capacity >= 0 && report.capacity <= windowMax, "a report has a capacity of \(report.capacity)")
            underway = report
        case .emit(.expired(let job)): expect(job.notification.expiresAt <= now, "\(job.number) expires before its end")
        case .emit(.paused(_, let milliseconds)):
            expect(milliseconds ?? 0 <= 600_000, "the lane pauses for \(milliseconds ?? 0) ms")
        case .emit: break
        case .finished: isFinished = true
        }
        return false
    }

    mutating func check() {
        expect(inFlight.count <= windowMax, "\(inFlight.count) requests are in flight")
        expect(
            lane.status.inFlight == inFlight.count,
            "the status gives \(lane.status.inFlight) requests in flight instead of \(inFlight.count)")
        expect(
            (lane.status.state == .paused) == (lane.status.pausedUntil != nil) || lane.isCredentialMissing,
            "the status is \(lane.status.state) until \(lane.status.pausedUntil ?? 0)")
    }

    // MARK: The store

    mutating func replyToReport(_ isCalm: Bool) {
        guard let report = underway else { return }
        underway = nil
        if !isCalm, Int.random(in: 0..<5, using: &rng) == 0 {
            return lane.handle(.refused, at: now, using: &rng)
        }
        for outcome in report.outcomes { record(outcome) }
        for (number, state) in states where state != .leased && jobs[number]?.notification.expiresAt ?? .max <= now {
            states[number] = nil
        }
        var lease = PushLease(lane: .apns)
        // Due jobs, in order.
        let due = states.filter { if case .waiting(let at) = $0.value { at <= now } else { false } }.keys.sorted()
        for number in due.prefix(report.capacity) {
            guard let job = jobs[number], !removed.contains(job.device.id) else {
                states[number] = nil
                continue
            }
            if quarantined.contains(job.device.id) { continue }
            states[number] = .leased
            lease.jobs.append(job)
        }
        lease.hasMore = due.count > report.capacity
        lease.nextDueAt = states.values.compactMap { if case .waiting(let at) = $0, at > now { at } else { nil } }.min()
        lane.handle(.supplied(lease), at: now, using: &rng)
    }

    mutating func record(_ outcome: PushOutcome) {
        let number = outcome.job.number
        expect(states[number] == .leased, "\(number) is reported without a lease")
        expect(inFlight[number] == nil, "\(number) is reported while in flight")
        switch outcome.result {
        case .undecided:
            quarantined.insert(outcome.job.device.id)
            return
        case .released: quarantined.remove(outcome.job.device.id)
        default: break
        }
        if outcome.removal != nil { removed.insert(outcome.job.device.id) }
        switch outcome.result {
        case .undecided, .moved: break
        case .released: states[number] = .waiting(dueAt: now)
        case .accepted, .failed, .cancelled, .expired: states[number] = nil
        case .returned: states[number] = .waiting(dueAt: now)
        case .retry(let at, _):
            states[number] = removed.contains(outcome.job.device.id) ? nil : .waiting(dueAt: at)
            let job = outcome.job
            jobs[number] = PushJob(
                number: number, notification: job.notification, entity: nil, recipient: job.recipient, device: job.device,
                attempts: job.attempts + 1)
        }
    }

    // MARK: The provider

    mutating func completeSome(_ isCalm: Bool) {
        for number in inFlight.keys.sorted() where Int.random(in: 0..<3, using: &rng) > 0 {
            guard let job = inFlight[number] else { continue }
            let result = isCalm ? .success(.accepted(messageID: nil)) : result(of: job)
            if result == .failure(.timedOut) { now += 2_000 }
            complete(number, result)
            // The lane handles this result alone, or together with the next result in one turn.
            if Bool.random(using: &rng) { performEffects() }
        }
    }

    mutating func complete(_ number: Int64, _ result: Result<SendResult, HTTPClientError>) {
        inFlight[number] = nil
        if result == .success(.accepted(messageID: nil)) { accepted += 1 }
        let used = Bool.random(using: &rng) ? credential : max(0, credential - 1)
        lane.handle(
            .completed(Lane.Completion(number: number, result: result, seconds: 0.1, credential: used)), at: now, using: &rng)
    }

    mutating func result(of job: PushJob) -> Result<SendResult, HTTPClientError> {
        var draw = Int.random(in: 0..<weights.reduce(0, +), using: &rng)
        let kind = weights.firstIndex { weight in
            draw -= weight
            return draw < 0
        }
        switch kind {
        case 1: return .success(.rejected(reason: "R", alarm: Bool.random(using: &rng)))
        case 2: return .success(.invalidToken(DeviceRemoval(reason: "Unregistered", ifSeenBefore: 1)))
        case 3: return .success(.retry(reason: "500", after: nil))
        case 4: return .success(.retry(reason: "429", after: 5_000))
        case 5: return .success(.deviceThrottled(reason: "busy", after: nil))
        case 6: return .success(.credentialExpired(reason: "old"))
        case 7: return .success(.configurationError(reason: "forbidden", newConnection: Bool.random(using: &rng)))
        case 8: return .success(.goAway(reason: "bye"))
        case 9: return .failure(.notSent("no"))
        case 10: return .failure(.lost("gone"))
        case 11: return .failure(.timedOut)
        case 12: return .success(.tooManyTokens(reason: "too many tokens"))
        case 13: return .success(.doubtfulToken(DeviceRemoval(reason: "BadDeviceToken", ifSeenBefore: 1)))
        case 15: return .success(.shutdown(reason: "Shutdown", after: nil))
        case 14: return .success(.unknownAddress(reason: "BadTopic"))
        case 16: return .success(.foreign(reason: "HTTP 302"))
        case 17: return .success(.retry(reason: "503", after: 86_400_000))
        default: return .success(.accepted(messageID: nil))
        }
    }

    // MARK: End

    /// Checks that all queued jobs end if no further faults occur.
    mutating func drain() {
        for _ in 0..<20_000 {
            if states.isEmpty, underway == nil { return }
            step(isCalm: true)
            now += 200
        }
        expect(false, "jobs have not ended: \(states.keys.sorted().prefix(5))")
    }

    mutating func stop() {
        lane.handle(.stop, at: now, using: &rng)
        for _ in 0..<5_000 where !isFinished {
            performEffects()
            step(isCalm: true)
            now += 200
        }
        expect(isFinished, "the lane does not finish")
        expect(inFlight.isEmpty && underway == nil, "the lane has finished with a request or report under way")
        expect(!states.values.contains(.leased), "the lane has finished with leased jobs")
    }
}

struct LaneSimulationTests {
    @Test(arguments: 1...60)
    func everyJobEndsExactlyOnce(seed: Int) {
        var world = LaneWorld(seed: UInt64(seed))
        world.performEffects()
        for _ in 0..<400 where world.problems.isEmpty { world.step(isCalm: false) }
        world.drain()
        world.stop()
        #expect(world.problems.first == nil)
        #expect(world.accepted > 0)
    }

    @Test(arguments: 61...100)
    func stopDuringFaultsLeavesNoJobLeasedOrInFlight(seed: Int) {
        var world = LaneWorld(seed: UInt64(seed))
        world.performEffects()
        for _ in 0..<(seed * 3) where world.problems.isEmpty { world.step(isCalm: false) }
        world.stop()
        #expect(world.problems.first == nil)
    }
}
