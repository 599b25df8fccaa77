import FanOut
import Server
import Store

/// What can lie in a loop's mailbox.
enum LoopMessage: Sendable {
    case instruction(Instruction)
    case adopt(Listener.AcceptedSocket)
    // Indirect: a reply is large, and every event that is sent needs a message.
    indirect case commandReply(CommandReply, to: RequestID)
    indirect case queryReply(QueryReply, to: RequestID)
    /// The keys that a request waits for have been fetched, or could not be.
    case keysFetched(for: RequestID)
    case drain(seconds: Int)
    case stop
}
