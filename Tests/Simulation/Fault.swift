import FanOut
import PusherProtocol

/// A planted fault, to prove that the checkers find it. The model does not know of it.
package struct Fault {
    /// Replaces an input to the hub; nil drops it.
    package var input: (Hub.Input) -> Hub.Input? = { $0 }
    /// Replaces the webhook events of an input.
    package var webhookEvents: (_ events: inout [AppWebhookEvent]) -> Void = { _ in }
    /// Replaces the content of a mailbox at each drain.
    package var mailbox: (_ loop: Int, _ instructions: inout [Instruction]) -> Void = { _, _ in }
    /// Replaces a write to a socket.
    package var write: (_ socket: SocketID, _ frame: Frame) -> [(SocketID, Frame)] = { [($0, $1)] }

    /// No fault.
    package init() {}
}
