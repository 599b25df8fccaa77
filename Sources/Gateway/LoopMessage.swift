import FanOut
import Server

/// What can lie in a loop's mailbox.
enum LoopMessage: Sendable {
    case instruction(Instruction)
    case adopt(Listener.AcceptedSocket)
    /// What the store says to a request that waits.
    case answer(StoreAnswer, to: RequestID)
    /// The keys that a request waits for have been fetched, or could not be.
    case keysFetched(for: RequestID)
    case drain(seconds: Int)
    case stop
}
