import CTLS
import Glibc
import Primitives
import Threads

/// A load test, on the thread that calls ``run()``: an epoll loop over all connections.
///
/// It connects the subscribers, publishes on schedule, waits for what is still under way, removes what it has left in the
/// gateway, and reports. Each SIGINT or SIGTERM ends what it does at that moment.
package final class BenchRun {
    /// What the run does now.
    enum Phase { case connecting, publishing, draining, ending, done }

    private static let tick: UInt64 = 100_000_000
    /// After the last delivery, duplicates may follow.
    private static let grace: UInt64 = 250_000_000
    private static let second: UInt64 = 1_000_000_000

    let plan: BenchPlan
    let address: GatewayAddress
    let scenario: any Scenario
    let path: String
    let context: OpaquePointer?
    let poller = Poller()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1_024, alignment: 16)
    /// Shows a line about the run; nil shows none.
    private let show: ((String) -> Void)?

    var phase = Phase.connecting
    var report: BenchReport
    private var shown: BenchReport
    private var shownAt: UInt64 = 0

    var subscribers: [Subscriber] = []
    var connecting: Schedule
    var publications: Publications
    var publishing: Schedule
    /// The subscribers of each channel.
    var subscriberCounts: [Int]
    /// The connections that shake hands or subscribe.
    var underWayCount = 0
    /// All connections that may be under way, the oldest first.
    var oldest = FIFO<Subscriber>()

    let requests: RequestQueue
    /// The confirmed notifications before the run; nil if the gateway does not tell.
    var confirmedBefore: Int?
    /// When the last event came, or the last response about one.
    var lastProgress: UInt64
    /// The phase ends at this moment, whether or not it is complete.
    private var deadline = UInt64.max
    /// When all deliveries had arrived.
    private var completeAt: UInt64 = 0
    private var figuresDue: UInt64 = 0
    private var nextEnd = 0
    private var handledSignals = 0

    /// - Parameters:
    ///   - verifiesCertificate: whether the gateway must have a valid certificate, if it uses TLS.
    ///   - show: is called with a line about the run, several times a second.
    /// - Throws: ``GatewayAddress/Failure`` without the system's certificates.
    package init(
        _ plan: BenchPlan, at address: GatewayAddress, _ credentials: BenchCredentials, verifiesCertificate: Bool,
        show: ((String) -> Void)?
    ) throws(GatewayAddress.Failure) {
        self.plan = plan
        self.address = address
        self.show = show
        context = address.usesTLS ? ctls_new_client_context(verifiesCertificate ? 1 : 0) : nil
        guard context != nil || !address.usesTLS else { throw .init(description: "cannot set up TLS") }
        let run = String(UInt64.random(in: 0..<(1 << 40)), radix: 36)
        let host = address.authority
        scenario =
            plan.scenario == .fleet
            ? FleetScenario(plan, credentials, host: host, run: run) : FanoutScenario(plan, credentials, host: host, run: run)
        path = "/app/\(credentials.appKey)?protocol=7&client=fleetwire-bench&version=1"
        report = BenchReport(plan: plan, target: address.url)
        shown = report
        let now = Clock.monotonicNanoseconds()
        lastProgress = now
        connecting = Schedule(start: now, rate: plan.connectRate, count: plan.connections)
        publishing = Schedule(start: .max, rate: plan.rate, count: plan.eventCount)
        publications = Publications(channelCount: plan.channelCount)
        subscriberCounts = Array(repeating: 0, count: plan.channelCount)
        requests = RequestQueue(count: plan.requestConnections, firstTag: plan.connections, address, context, poller)
        if let figures = scenario.figures { requests.append(Request(purpose: .figures, bytes: figures, due: now)) }
    }

    deinit {
        buffer.deallocate()
        if let context { SSL_CTX_free(context) }
    }

    /// Runs to the end.
    package func run() -> BenchReport {
        while phase != .done {
            advance(at: Clock.monotonicNanoseconds())
            guard phase != .done else { break }
            for event in poller.wait(until: nextMoment(after: Clock.monotonicNanoseconds())) {
                if event.tag < plan.connections { advanceSubscriber(event) } else { requests.advance(event, buffer, settle) }
            }
        }
        for subscriber in subscribers { subscriber.close() }
        requests.close()
        finish()
        return report
    }

    /// Does what is due.
    private func advance(at now: UInt64) {
        requests.timeOut(at: now, settle)
        if poller.signalCount > handledSignals {
            handledSignals += 1
            interrupt(at: now)
        }
        switch phase {
        case .connecting: connect(at: now)
        case .publishing: publish(at: now)
        case .draining: drain(at: now)
        case .ending: end(at: now)
        case .done: break
        }
        requests.pump(at: now, settle)
        showLine(at: now)
    }

    private func nextMoment(after now: UInt64) -> UInt64 {
        // A multiple of the tick, so that the timer is not set anew each time.
        var moment = (now / Self.tick + 1) * Self.tick
        if phase == .connecting, subscribers.count < connecting.count {
            moment = min(moment, connecting.time(of: subscribers.count))
        }
        if phase == .publishing, publications.sentCount < publishing.count, requests.hasIdle {
            moment = min(moment, publishing.time(of: publications.sentCount))
        }
        return max(moment, 1)
    }

    private func interrupt(at now: UInt64) {
        if phase != .ending { report.isInterrupted = true }
        switch phase {
        case .connecting:
            finishConnecting(at: now)
            phase = .done
        case .publishing: startDraining(at: now)
        case .draining: startEnding(at: now)
        case .ending, .done: phase = .done
        }
    }

    // MARK: Phases

    private func connect(at now: UInt64) {
        startConnects(at: now)
        let settled = report.connects.done + report.connects.failedCount
        guard settled == plan.connections, requests.isEmpty else { return }
        finishConnecting(at: now)
        if report.connects.done == 0 {
            phase = .done
        } else {
            phase = .publishing
            publishing = Schedule(start: now, rate: plan.rate, count: plan.eventCount)
            measureProcessor()
        }
    }

    private func finishConnecting(at now: UInt64) {
        report.connectSeconds = Double(max(lastProgress, connecting.start) - connecting.start) / 1e9
    }

    private func publish(at now: UInt64) {
        let due = publishing.dueCount(at: now)
        while publications.sentCount < due, requests.hasIdle {
            let event = publications.sentCount
            publications.send(at: now)
            report.publishes.sent += 1
            requests.send(
                Request(purpose: .publish(event), bytes: scenario.publish(event), due: publishing.time(of: event)), at: now,
                settle)
        }
        let lastDue = publishing.time(of: publishing.count - 1)
        let isOver = now >= lastDue && (publications.sentCount == publishing.count || now > lastDue + drainTime)
        if isOver || report.closed.values.reduce(0, +) == report.connects.done { startDraining(at: now) }
    }

    private func startDraining(at now: UInt64) {
        phase = .draining
        deadline = now + drainTime
    }

    /// Waits for responses, deliveries, and confirmations.
    private func drain(at now: UInt64) {
        if now < deadline {
            guard requests.isEmpty, report.deliveries.received >= report.deliveries.expected else { return }
            if confirmedBefore != nil, report.confirmed ?? 0 < report.deliveries.received { return readFigures(at: now) }
            if completeAt == 0 { completeAt = now }
            guard now >= completeAt + Self.grace else { return }
        }
        startEnding(at: now)
    }

    /// Asks the gateway again how much is confirmed, once a tick.
    private func readFigures(at now: UInt64) {
        guard let figures = scenario.figures, now >= figuresDue else { return }
        figuresDue = now + Self.tick
        requests.append(Request(purpose: .figures, bytes: figures, due: now))
    }

    private func startEnding(at now: UInt64) {
        report.seconds = Double(max(lastProgress, publishing.start) - publishing.start) / 1e9
        measureProcessor()
        phase = scenario.end(0) == nil ? .done : .ending
        lastProgress = now
    }

    /// Removes what the events have left, as fast as the gateway responds, unless it stops responding.
    private func end(at now: UInt64) {
        while nextEnd < publications.sentCount, requests.hasIdle, let request = scenario.end(nextEnd) {
            nextEnd += 1
            requests.send(Request(purpose: .end(nextEnd - 1), bytes: request, due: now), at: now, settle)
        }
        if nextEnd == publications.sentCount, requests.isEmpty || now > lastProgress + Requester.timeout { phase = .done }
    }

    func stopEnding() { nextEnd = publications.sentCount }

    private var drainTime: UInt64 { UInt64(plan.drainSeconds) * Self.second }

    // MARK: The end

    /// Counts what should have arrived, and what did.
    private func finish() {
        let channels = subscribers.map { ($0, channel(of: $0)) }.filter { $0.0.hasSubscribed }
        report.deliveries.expected = channels.reduce(0) { $0 + publications.acceptedCount(of: $1.1) }
        report.deliveries.received = channels.reduce(0) { $0 + publications.receivedCount($1.0.receipts, on: $1.1) }
    }

    private func showLine(at now: UInt64) {
        guard let show, now >= shownAt + (phase == .publishing ? Self.second : Self.tick) else { return }
        shownAt = now
        switch phase {
        case .connecting: show(report.connectingLine)
        case .publishing:
            show(report.publishingLine(since: shown, elapsed: Double(now - publishing.start) / 1e9))
            shown = report
        case .draining: show("waiting for the last deliveries")
        case .ending: show("cancelling the orders: \(nextEnd.grouped) of \(publications.sentCount.grouped)")
        case .done: break
        }
    }

    private var processorSeconds = 0.0
    private var measuredAt: UInt64 = 0

    /// Measures the processor's time between two calls.
    private func measureProcessor() {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let seconds = [usage.ru_utime, usage.ru_stime].reduce(0.0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
        let now = Clock.monotonicNanoseconds()
        if measuredAt > 0 { report.cpuShare = (seconds - processorSeconds) / max(1e-3, Double(now - measuredAt) / 1e9) }
        (processorSeconds, measuredAt) = (seconds, now)
    }
}
