import FanOut
import PusherProtocol

/// Something broken on purpose, to prove that the checkers notice. The model is never told.
package struct Fault {
    /// What the hub is told instead of an input; nil: nothing.
    package var input: (Hub.Input) -> Hub.Input? = { $0 }
    /// What backends are told instead, of every input.
    package var webhookEvents: (_ notices: inout [AppWebhookEvent]) -> Void = { _ in }
    /// What a loop finds in its mailbox instead, whenever it looks.
    package var mailbox: (_ loop: Int, _ instructions: inout [Instruction]) -> Void = { _, _ in }
    /// What reaches the sockets instead of a write.
    package var write: (_ socket: SocketID, _ frame: Frame) -> [(SocketID, Frame)] = { [($0, $1)] }

    /// No fault at all.
    package init() {}
}
