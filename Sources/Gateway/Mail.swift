import FanOut
import Server

/// What can lie in a loop's mailbox.
enum Mail: Sendable {
    case instruction(Instruction)
    case adopt(Listener.Accepted)
    /// What the store says to a request that waits.
    case answer(StoreAnswer, to: ExchangeID)
    /// The keys that a request waits for have been fetched, or could not be.
    case keysFetched(for: ExchangeID)
    case drain(seconds: Int)
    case stop
}
