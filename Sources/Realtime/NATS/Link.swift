import Glibc
import Primitives
import Synchronization
import Threads

/// What the connection's thread owns: the session, the subscriptions, and the loop over both.
final class Link {
    struct Subscription {
        let subject: String
        /// nil while there is no session.
        var handle: OpaquePointer?
        /// Messages that cnats has dropped, as far as they were reported.
        var dropped = 0
    }

    /// While more bytes than these wait for the kernel, publishes wait in the queue, which is bounded.
    static let bufferMax = 1 << 20
    /// The bytes after which a batch is written although it is not at its end.
    static let sliceBytes = 1 << 18

    let options: NATSConnection.Options
    private let servers: [ServerAddress]
    let queue: CommandQueue
    let state: LinkState
    let acknowledger: Acknowledger
    let onEvents: @Sendable ([NATSConnection.Event]) -> Void
    private let errorRoute: UInt

    var subscriptions: [UInt64: Subscription] = [:]
    /// Commands taken from the queue; those before `next` have been carried out.
    var batch: [NATSConnection.Command] = []
    var next = 0
    var ungranted: [UInt64] = []
    var isFlushRequested = false
    private var lastProblem: String?
    private var wasUp = false
    private var sessions = 0
    /// When the kernel took bytes, or there were none.
    private var lastWrite: Int64 = 0
    var isSlow = false
    let spent = SpentMessages()

    init(
        _ options: NATSConnection.Options, queue: CommandQueue, state: LinkState, acknowledger: Acknowledger,
        onEvents: @escaping @Sendable ([NATSConnection.Event]) -> Void
    ) {
        self.options = options
        self.queue = queue
        self.state = state
        self.acknowledger = acknowledger
        self.onEvents = onEvents
        servers = options.servers.map(ServerAddress.init)
        errorRoute = ErrorRoutes.add(state.inbox)
    }

    deinit { ErrorRoutes.remove(errorRoute) }

    /// Connects and serves until the queue is closed.
    func run() {
        var pause = AttemptPause()
        while queue.closeDeadline == nil {
            var lived: Int64?
            if let session = connect() {
                let start = Clock.monotonicMilliseconds()
                serve(session)
                lived = Clock.monotonicMilliseconds() - start
            }
            pause.ended(after: lived)
            wait(pause.length())
        }
    }

    // MARK: Connecting

    /// Tries each server once.
    private func connect() -> NATSSession? {
        var problems: [String: String] = [:]
        for server in servers.shuffled() where queue.closeDeadline == nil {
            sessions += 1
            let session = NATSSession(number: sessions, wakeUp: state.wakeUp)
            guard let problem = session.connect(server, options, errorRoute: errorRoute) else { return session }
            problems[server.url] = options.redacted("\(server.host): \(problem)")
        }
        let text = servers.compactMap { problems[$0.url] }.joined(separator: "; ")
        if text != lastProblem, queue.closeDeadline == nil { onEvents([.down(reason: text)]) }
        lastProblem = text
        return nil
    }

    /// Waits before the next attempt. Commands are heeded meanwhile.
    private func wait(_ milliseconds: Int64) {
        let end = Clock.monotonicMilliseconds() + milliseconds
        while queue.closeDeadline == nil {
            let left = end - Clock.monotonicMilliseconds()
            guard left > 0 else { return }
            var descriptors = [pollfd(fd: state.wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
            poll(&descriptors, 1, Int32(left))
            state.wakeUp.reset()
            takeBatch()
            carryOutWithoutSession()
        }
    }

    // MARK: Serving

    private func serve(_ session: NATSSession) {
        begin(session)
        while !session.isClosed {
            wait(for: session)
            takeBatch()
            carryOut(on: session)
            report(of: session)
            if let deadline = queue.closeDeadline, isDrained(session, by: deadline) { break }
        }
        end(session)
    }

    private func begin(_ session: NATSSession) {
        for token in subscriptions.keys {
            guard var subscription = subscriptions[token] else { continue }
            subscription.handle = session.subscribe(subscription.subject, token: token, inbox: state.inbox)
            subscription.dropped = 0
            subscriptions[token] = subscription
        }
        ungranted = Array(subscriptions.keys)
        lastWrite = Clock.monotonicMilliseconds()
        write(session)
        acknowledger.begin(session)
        if wasUp { state.reconnects.wrappingAdd(1, ordering: .relaxed) }
        wasUp = true
        lastProblem = nil
        queue.connected()
        onEvents([.up(payloadMax: session.payloadMax)])
    }

    private func end(_ session: NATSSession) {
        queue.disconnected()
        acknowledger.forget()
        session.close()
        releaseSubscriptions()
        report(of: session)
        takeBatch()
        carryOutWithoutSession()
        ungranted = []
        if queue.closeDeadline == nil { onEvents([.down(reason: options.redacted(session.reason))]) }
    }

    /// Sleeps until there is something to do, then reads what has arrived, and writes what the kernel now takes.
    private func wait(for session: NATSSession) {
        let isWriting = session.wantsToWrite
        if !isWriting { lastWrite = Clock.monotonicMilliseconds() }
        var descriptors = [
            pollfd(fd: state.wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: session.descriptor, events: Int16(isWriting ? POLLIN | POLLOUT : POLLIN), revents: 0),
        ]
        poll(&descriptors, 2, isWriting || queue.closeDeadline != nil ? 100 : isSlow ? 1_000 : -1)
        if descriptors[0].revents != 0 { state.wakeUp.reset() }
        if descriptors[1].revents & ~Int16(POLLOUT) != 0 { session.read() }
        guard isWriting, !session.isClosed else { return }
        if descriptors[1].revents & Int16(POLLOUT) != 0 {
            write(session)
        } else if Clock.monotonicMilliseconds() - lastWrite > Timing.busStallMax {
            session.lose("the server takes no more data")
        }
    }

    func write(_ session: NATSSession) {
        guard session.wantsToWrite else { return }  // cnats takes an empty write for the end of the connection
        let before = session.bufferedBytes
        session.write()
        if session.bufferedBytes < before { lastWrite = Clock.monotonicMilliseconds() }
    }
}
