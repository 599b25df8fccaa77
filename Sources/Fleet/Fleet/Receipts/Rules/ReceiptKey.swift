/// Whose delivery of a channel's notifications is recorded: one device of one of the channel's owners.
package struct ReceiptKey: Hashable, Sendable {
    /// The channel's public name: `driver-42`, `drivers-channel`.
    package let channel: String
    /// ``Identity/key`` of the owner: `driver:42`.
    package let owner: String
    /// The `device_id` that the client named, 1 to 64 characters; empty for all clients of the owner that named none.
    package let device: String

    package init(channel: String, owner: String, device: String) {
        self.channel = channel
        self.owner = owner
        self.device = device
    }

    /// Whether the channel is `drivers-channel`.
    package var isForEveryDriver: Bool { channel.hasSameBytes(as: FleetChannel.drivers.name) }
}
