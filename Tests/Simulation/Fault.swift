import Access
import FanOut
import PusherProtocol

/// A fault that a test plants in the simulated node, to prove that the checkers find it. It does not affect the model.
package struct Fault {
    /// Replaces an input to the hub; returns nil to drop it.
    package var input: (Hub.Input) -> Hub.Input? = { $0 }
    /// The same for an input of the fleet.
    package var fleetInput: (FleetInput) -> FleetInput? = { $0 }
    /// Changes the webhook events that the hub records for an input.
    package var webhookEvents: (_ events: inout [AppWebhookEvent]) -> Void = { _ in }
    /// Changes the content of a mailbox at each drain.
    package var mailbox: (_ loop: Int, _ instructions: inout [Instruction]) -> Void = { _, _ in }
    /// Replaces a write to a socket.
    package var write: (_ socket: SocketID, _ frame: Frame) -> [(SocketID, Frame)] = { [($0, $1)] }

    /// No fault.
    package init() {}
}
