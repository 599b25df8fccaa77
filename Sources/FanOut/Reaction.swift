import PusherProtocol

/// What a client's message causes: an answer at once, or an input for the hub. Decided without a socket, a clock or a lock.
package enum Reaction: Sendable {
    case answer(Frame)
    case input(Hub.Input)
    case nothing

    /// - Parameters:
    ///   - text: one text message, as received.
    ///   - key: the key of the connection's application.
    ///   - verify: whether a hexadecimal signature is the application's for a text.
    package init(
        to text: UnsafeRawBufferPointer, from socket: SocketID, key: String, limits: Limits,
        verify: (_ text: String, _ signature: Substring) -> Bool
    ) {
        do throws(ProtocolError) {
            switch try ClientMessage(text) {
            case .ping: self = .answer(ServerMessage.pong)
            case .pong: self = .nothing
            case .subscribe(let request):
                self = .input(.subscribe(socket, try request.grant(to: socket, key: key, limits: limits, verify: verify)))
            case .unsubscribe(let channel):
                guard let name = ChannelName(channel, lengthMax: limits.nameLength) else {
                    throw ProtocolError("No current subscription to channel \(channel.clipped), or subscription in progress")
                }
                self = .input(.unsubscribe(socket, name))
            }
        } catch {
            self = .answer(ServerMessage.error(error))
        }
    }
}
