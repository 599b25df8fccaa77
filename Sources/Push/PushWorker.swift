import FleetRules
import HTTPClient
import Threads

/// The thread that carries the pushes of one lane: it owns the lane, the connections to its provider, and what proves to it
/// who we are.
///
/// What is said to it waits as ``Commands``, which cannot overflow: of each kind there is one at most, for the store answers a
/// report before it gets the next. (Devices that go are as many as the store's one writer commits while the thread takes one
/// turn, which waits for nobody; or while the program ends.)
package final class PushWorker: Sendable {
    /// What the thread needs of the rest of the program. All of it is called on the thread.
    package struct Environment: Sendable {
        /// Milliseconds since 1970.
        package var now: @Sendable () -> Int64
        /// Hands a report to the store; false when it cannot take one. What comes of it is ``PushWorker/supply(_:)``, or
        /// ``PushWorker/refused()``.
        package var report: @Sendable (PushReport) -> Bool
        /// Whether somebody (``PushJob/recipient``) subscribes to his own channel at present.
        package var isConnected: @Sendable (_ recipient: String) -> Bool
        package var event: @Sendable (LaneEvent) -> Void

        package init(
            now: @escaping @Sendable () -> Int64, report: @escaping @Sendable (PushReport) -> Bool,
            isConnected: @escaping @Sendable (String) -> Bool, event: @escaping @Sendable (LaneEvent) -> Void
        ) {
            self.now = now
            self.report = report
            self.isConnected = isConnected
            self.event = event
        }
    }

    /// What has been said to the thread since it looked last.
    struct Commands {
        var supply: PushLease?
        var isRefused = false
        var isWoken = false
        var templates: PushTemplates?
        /// Devices that nothing is to be sent to any more.
        var lost: Set<String> = []
        /// When it has to have stopped, by the clock that nobody sets, in milliseconds.
        var stop: Int64?
    }

    /// What is shared with the thread.
    struct Shared: Sendable {
        let commands = Lock(Commands())
        let status = Lock(LaneStatus())
        /// Nil until the thread has made its connections.
        let waker = Lock<HTTPPool.Waker?>(nil)
    }

    package let lane: PushLane
    private let shared = Shared()
    private let run: @Sendable () -> Void
    private let thread = Lock<Thread?>(nil)

    /// - Parameters:
    ///   - texts: what phones show, until others are to be used (``use(_:)``).
    ///   - rules: nil: what is right for the provider.
    package init(
        lane: PushLane, _ settings: ProviderSettings, texts: PushTemplates, rules: LaneRules? = nil, surroundings: Environment
    ) {
        precondition(lane.provider == settings.provider, "a lane goes to its own provider")
        self.lane = lane
        let rules = rules ?? LaneRules(for: lane.provider)
        run = { [shared] in
            var loop = PushWorkerLoop(lane, ProviderConnection(settings, rules), rules, texts, surroundings, shared)
            loop.run()
        }
    }

    /// Starts the thread, once.
    package func start() {
        thread.withLock { thread in
            precondition(thread == nil, "started once")
            thread = Thread(name: lane.rawValue, run)
        }
    }

    /// The store's answer to the report it has.
    package func supply(_ supply: PushLease) { post { $0.supply = supply } }

    /// The store could not take the report after all: the same comes again, in a second.
    package func refused() { post { $0.isRefused = true } }

    /// The store may have jobs for the lane.
    package func wake() { post { $0.isWoken = true } }

    /// The device has gone, or is another's: what is not on the wire yet goes back to the store, which knows.
    package func withdraw(_ deviceID: String) { post { $0.lost.insert(deviceID) } }

    /// Other texts from now on.
    package func use(_ texts: PushTemplates) { post { $0.templates = texts } }

    /// Sends nothing new, gives back what is in hand, and waits for answers, but no longer than that many seconds: what has
    /// none by then is reported as lost. It returns at once; ``wait()`` does not. The store has to go on answering meanwhile.
    /// Said again, the earlier end holds.
    package func stop(withinSeconds seconds: Int) {
        let end = Clock.monotonicMilliseconds() + Int64(seconds) * 1_000
        post { $0.stop = min($0.stop ?? end, end) }
    }

    /// Waits until the thread has ended, which it does after ``stop(withinSeconds:)``.
    package func wait() {
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// How the lane was doing a moment ago.
    package var status: LaneStatus { shared.status.withLock { $0 } }

    private func post(_ command: (inout Commands) -> Void) {
        shared.commands.withLock { command(&$0) }
        shared.waker.withLock { $0 }?.wake()
    }
}
