import Cluster
import FanOut
import PusherProtocol

/// What a node asks the others whose connection it is for which its authorization endpoint has verified an identity: the
/// node that has the connection notes that, and answers with ``isHere``.
package struct AuthorizedConnection: Equatable, Sendable {
    package let socket: SocketID
    package let identity: Identity
    /// The client's name of its device.
    package let device: String
    /// The channel for which the endpoint has signed a subscription; nil for a sign-in.
    package let channel: ChannelName?

    package init(_ socket: SocketID, _ identity: Identity, device: String, channel: ChannelName?) {
        self.socket = socket
        self.identity = identity
        self.device = device
        self.channel = channel
    }

    /// The answer of the node that has the connection; that of the others is empty.
    package static let isHere: [UInt8] = [1]

    package var input: FleetInput { .authorized(socket, identity, device: device, channel: channel) }

    /// The question on the wire.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.append(socket.bits)
        writer.append(text: identity.role.rawValue)
        writer.append(text: identity.id)
        writer.append(text: device)
        writer.append(optional: channel?.text)
        writer.append(optional: identity.name)
        for booking in identity.bookings { writer.append(text: booking) }
        return writer.bytes
    }

    /// Nil if the bytes are no such question.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        socket = SocketID(bits: reader.int64())
        let (role, id) = (Role(rawValue: reader.text()), reader.text())
        device = reader.text()
        channel = reader.optionalText().flatMap { ChannelName($0, lengthMax: .max) }
        let name = reader.optionalText()
        let bookings = reader.list { $0.text() }
        guard let role, reader.isValid else { return nil }
        identity = Identity(role: role, id: id, name: name, bookings: bookings)
    }
}
