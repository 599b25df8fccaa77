import FanOut
import HTTP
import PusherProtocol
import Server

/// A message in a loop's mailbox.
///
/// Most messages are instructions. A reply is larger than an instruction and would enlarge every message, so the cases
/// with replies are indirect: each reply costs an allocation instead.
package enum LoopMessage: Sendable {
    /// Perform an effect of the hub.
    case instruction(Instruction)
    /// All effects of a publish that is measured precede this message. It was taken at this time, in nanoseconds of the
    /// monotonic clock.
    case publishTaken(at: UInt64)
    /// Serve a connection that loop 0 has accepted.
    case adopt(Listener.AcceptedSocket)
    /// Respond to a request.
    indirect case response(HTTPResponse, to: RequestID)
    /// Subscriptions to the channel may be opened: see ``SharedHub/isSubscribable(_:app:loop:_:)``.
    case subscribable(ChannelName, app: Int)
    /// The node's next life has begun: serve again.
    case beginLife
    /// A message to what runs on top of the Pusher server.
    indirect case custom(any ExtensionMessage)
    /// Add what the loop knows of its connections, then pass the report to the next loop; the last one completes it.
    indirect case report(ConnectionReport)
    /// Close all WebSockets within this time, and answer the requests under way within the other.
    case drain(seconds: Int, requestSeconds: Int, CloseCode)
    /// End the loop at once.
    case stop
}
