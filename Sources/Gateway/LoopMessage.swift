import FanOut
import Server
import Store

/// A message in a loop's mailbox.
///
/// Most are instructions, so replies are indirect: they are larger than an instruction and would enlarge every message.
/// A reply costs an allocation instead.
enum LoopMessage: Sendable {
    /// Perform an effect of the hub.
    case instruction(Instruction)
    /// Serve a connection that loop 0 has accepted.
    case adopt(Listener.AcceptedSocket)
    /// Respond to the request of a command.
    indirect case commandReply(CommandReply, to: RequestID)
    /// Respond to the request of a query.
    indirect case queryReply(QueryReply, to: RequestID)
    /// Retry a request: the fetch of its issuer's keys is over, whether it succeeded or not.
    case keysFetched(for: RequestID)
    /// Close all WebSockets within this time.
    case drain(seconds: Int)
    /// End the loop at once.
    case stop
}
