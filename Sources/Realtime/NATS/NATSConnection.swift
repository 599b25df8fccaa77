import Synchronization
import Threads

/// A connection to a NATS server, which connects again for ever when it is lost.
///
/// Its thread `nats` alone publishes, subscribes, reads and reports: other threads queue commands. A publish is sent at
/// once or never: none waits for a server that is away, so that no event arrives seconds late. What was accepted shortly
/// before the connection was lost may be lost with it.
package final class NATSConnection: Sendable {
    /// Where and how to connect.
    package struct Options: Sendable {
        /// `nats://host:port` or `tls://host:port`; tried in random order.
        package var servers: [String]
        /// The connection's name, which the server's monitoring shows.
        package var name: String
        /// The user; empty: none.
        package var user = ""
        /// The user's password.
        package var password = ""
        /// A token instead of a user; empty: none.
        package var token = ""
        /// A file with a JWT and its key, as `nsc` writes it; empty: none.
        package var credentialsFile = ""
        /// The certificates that the server's must descend from; empty: the system's.
        package var caFile = ""
        /// With so many bytes of publishes that wait for the thread, the connection counts as down. One post may exceed it.
        package var queueBytesMax = 16 << 20
        /// The largest number of a subscription's received messages that wait for the thread; cnats drops those above.
        /// From 2^20 on, cnats computes a limit of bytes that overflows, and refuses all subscriptions.
        package var pendingMessagesMax: Int32 = 1 << 19

        /// Creates options without credentials.
        package init(servers: [String], name: String) {
            self.servers = servers
            self.name = name
        }
    }

    /// What the connection is asked to do.
    package enum Command: Sendable {
        /// Sends a message. The connection does not receive its own messages.
        case publish(subject: String, payload: [UInt8])
        /// Receives what others publish on the subject. The token names the subscription in events; it is never reused.
        case subscribe(subject: String, token: UInt64)
        /// Ends a subscription. No message of it is reported afterwards, except those that are being reported.
        case unsubscribe(token: UInt64)
    }

    /// What the connection reports.
    package enum Event: Equatable, Sendable {
        /// Connected, for the first time or again. All subscriptions have been sent (again), and will be granted.
        case up(payloadMax: Int)
        /// Lost or declared lost. Or still down: an attempt to connect has failed, for another reason than the last one.
        case down(reason: String)
        /// The server has these subscriptions: what is published from now on arrives. Reported after each
        /// ``up(payloadMax:)`` again.
        case granted(tokens: [UInt64])
        /// A message was received.
        case message(token: UInt64, payload: [UInt8])
        /// So many messages were dropped, because the thread did not take them in time.
        case dropped(count: Int)
    }

    private let queue: CommandQueue
    private let link: LinkState
    private let threads: Lock<[Thread]>

    /// Begins to connect in the background. The creator of a connection must close it: its threads keep it alive.
    /// - Parameter onEvents: called on the connection's thread, with all events that wait. It should return soon: nothing
    ///   is read or sent meanwhile.
    package init(_ options: Options, onEvents: @escaping @Sendable ([Event]) -> Void) {
        let wakeUp = WakeUp()
        let queue = CommandQueue(bytesMax: options.queueBytesMax, wakeUp: wakeUp)
        let link = LinkState(wakeUp: wakeUp)
        self.queue = queue
        self.link = link
        let acknowledger = Acknowledger(inbox: link.inbox)
        let main = Thread(name: "nats") {
            Link(options, queue: queue, state: link, acknowledger: acknowledger, onEvents: onEvents).run()
            acknowledger.end()
        }
        threads = Lock([main, Thread(name: "nats-flush") { acknowledger.run() }])
    }

    /// Queues commands, in their order. Never blocks, and may be called by any thread.
    /// - Returns: false if the connection is down, its queue is full, or it is closed: then none of the publishes was
    ///   queued. Subscriptions are queued in any case, except after ``close(drainSeconds:)``.
    package func post(_ commands: [Command]) -> Bool { queue.post(commands) }

    /// Whether ``post(_:)`` would accept a publish.
    package var isUp: Bool { queue.acceptsPublishes }

    /// How often the connection was established again.
    package var reconnects: Int { link.reconnects.load(ordering: .relaxed) }
    /// Messages reported so far.
    package var messagesIn: Int { link.messagesIn.load(ordering: .relaxed) }
    /// Bytes of the payloads reported so far.
    package var bytesIn: Int { link.bytesIn.load(ordering: .relaxed) }
    /// Messages written so far.
    package var messagesOut: Int { link.messagesOut.load(ordering: .relaxed) }
    /// Bytes of the payloads written so far.
    package var bytesOut: Int { link.bytesOut.load(ordering: .relaxed) }
    /// Publishes for which ``post(_:)`` had no room, or which were discarded because the connection was lost, or because they
    /// exceeded the server's limit.
    package var publishesDiscarded: Int { link.discarded.load(ordering: .relaxed) + queue.discarded }

    /// Sends what is queued and waits until the server has it, then disconnects. Nothing is reported afterwards. While an
    /// attempt to connect is under way, it waits for its end, for 2 s at most for each server.
    /// - Parameter drainSeconds: the longest time for sending.
    package func close(drainSeconds: Int) {
        queue.close(deadline: Clock.monotonicMilliseconds() + Int64(drainSeconds) * 1_000)
        let threads = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for thread in threads { thread.join() }
    }
}

/// What the connection's thread shares with others.
final class LinkState: Sendable {
    let wakeUp: WakeUp
    let inbox: Inbox
    let reconnects = Atomic(0)
    let messagesIn = Atomic(0)
    let bytesIn = Atomic(0)
    let messagesOut = Atomic(0)
    let bytesOut = Atomic(0)
    let discarded = Atomic(0)

    init(wakeUp: WakeUp) {
        self.wakeUp = wakeUp
        inbox = Inbox(wakeUp: wakeUp)
    }
}
