import Fleet
import HTTPClient
import Threads

/// The thread of one lane. It owns the lane, the connections to its provider, and the credential.
///
/// Other threads post ``Commands``, which need no queue: at most one of each kind is stored. The store replies to a
/// report with a lease (the lane's next jobs) or a refusal. No second reply can be posted before the thread has read
/// the first, because a lane has one report under way at a time. The set of lost devices stays small: it contains only
/// the devices that the store removed or gave to another owner during one turn of the thread, and a turn never blocks.
package final class PushWorker: Sendable {
    /// What the thread needs from the program. All closures are called on this thread.
    package struct Environment: Sendable {
        /// Milliseconds since 1970.
        package var now: @Sendable () -> Int64
        /// Hands a report to the store; false if the store's queue is full. The store replies with
        /// ``PushWorker/supply(_:)`` or ``PushWorker/refused()``.
        package var report: @Sendable (PushReport) -> Bool
        /// Whether a recipient (``PushJob/recipient``) is subscribed to their own channel.
        package var presence: @Sendable (_ recipient: String) -> RecipientPresence
        /// Whether this process may send what it has leased. If not, another process has the leases.
        package var leads: @Sendable () -> Bool
        /// Logs and counts an event.
        package var event: @Sendable (LaneEvent) -> Void

        package init(
            now: @escaping @Sendable () -> Int64, report: @escaping @Sendable (PushReport) -> Bool,
            presence: @escaping @Sendable (String) -> RecipientPresence, leads: @escaping @Sendable () -> Bool = { true },
            event: @escaping @Sendable (LaneEvent) -> Void
        ) {
            self.now = now
            self.report = report
            self.presence = presence
            self.leads = leads
            self.event = event
        }
    }

    /// The commands posted since the thread last read them.
    struct Commands {
        /// The store's reply to the report under way.
        var lease: PushLease?
        /// Whether the store did not write the report under way.
        var isRefused = false
        /// Whether the store may have jobs for the lane.
        var isWoken = false
        /// New texts of pushes.
        var templates: PushCatalogue?
        /// The ids of devices that were removed or have another owner.
        var lostDevices: Set<String> = []
        /// When the requests in flight are cut off, in monotonic milliseconds.
        var stopAt: Int64?

        var count: Int {
            let others = [lease != nil, isRefused, isWoken, templates != nil, stopAt != nil]
            return lostDevices.count + others.count { $0 }
        }
    }

    /// What the thread shares with its callers.
    struct Shared: Sendable {
        let commands = Lock(Commands())
        let status = Lock(LaneStatus())
        /// Nil until the thread has created its connections.
        let waker = Lock<HTTPPool.Waker?>(nil)
    }

    /// The lane that the thread serves.
    package let lane: PushLane
    /// Distinguishes this worker from others of the same lane, which it replaces or which replace it.
    package let number: Int
    private let shared = Shared()
    private let run: @Sendable () -> Void
    private let thread = Lock<Thread?>(nil)

    /// Call ``start()`` to start the thread.
    /// - Parameter templates: the texts of pushes until ``use(_:)`` replaces them.
    package init(_ provider: Provider, number: Int = 0, templates: PushCatalogue, environment: Environment) {
        lane = provider.lane
        self.number = number
        run = { [shared] in
            var loop = PushWorkerLoop(provider, templates, environment, shared)
            loop.run()
        }
    }

    /// Starts the thread, once.
    package func start() {
        thread.withLock { thread in
            precondition(thread == nil, "PushWorker.start was called twice")
            thread = Thread(name: lane.rawValue, run)
        }
    }

    /// Gives the lane the store's reply to the report under way, with the next jobs.
    package func supply(_ lease: PushLease) { post { $0.lease = lease } }

    /// Tells the lane that the store did not write the report under way. The lane repeats the report after a second.
    package func refused() { post { $0.isRefused = true } }

    /// Tells the lane that the store may have jobs for it.
    package func wake() { post { $0.isWoken = true } }

    /// Tells the lane that the device was removed or has another owner. The device's jobs whose requests are not
    /// written yet go back to the store.
    package func withdraw(_ deviceID: String) { post { $0.lostDevices.insert(deviceID) } }

    /// Replaces the texts of pushes.
    package func use(_ templates: PushCatalogue) { post { $0.templates = templates } }

    /// Stops sending, returns the jobs in hand to the store, and waits at most `seconds` for the responses under way.
    /// Requests without a response by then are reported as lost. Returns at once; ``wait()`` blocks. The store has to
    /// keep replying until the thread has ended. If called several times, the earliest deadline applies.
    package func stop(withinSeconds seconds: Int) {
        let end = Clock.monotonicMilliseconds() + Int64(seconds) * 1_000
        post { $0.stopAt = min($0.stopAt ?? end, end) }
    }

    /// Blocks until the thread has ended after ``stop(withinSeconds:)``.
    package func wait() {
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// The number of commands that wait for the thread.
    package var commandCount: Int { shared.commands.withLock { $0.count } }

    /// The lane's status at the end of its last turn.
    package var status: LaneStatus { shared.status.withLock { $0 } }

    private func post(_ command: (inout Commands) -> Void) {
        shared.commands.withLock { command(&$0) }
        shared.waker.withLock { $0 }?.wake()
    }
}
