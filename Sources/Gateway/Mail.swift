import FanOut
import Server

/// What can lie in a loop's mailbox.
enum Mail: Sendable {
    case instruction(Instruction)
    case adopt(Listener.Accepted)
    case drain(seconds: Int)
    case stop
}
