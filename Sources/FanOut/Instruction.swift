import PusherProtocol

/// What the hub tells one loop to do. In a loop's mailbox, instructions stand in the order of the hub.
package enum Instruction: Equatable, Sendable {
    /// The connection is a subscriber from here on.
    case join(ChannelSlot, SocketID)
    /// The connection gets nothing of the channel from here on.
    case leave(ChannelSlot, SocketID)
    /// An event for the channel's subscribers on this loop.
    case fanOut(Frame, ChannelSlot, except: SocketID?)
    /// A message for one connection.
    case send(Frame, to: SocketID)
    /// Who is there, for one who has joined: encoded by its loop, for that takes time the lock should not.
    case sendPresence(ChannelName, [PresenceMember], to: SocketID)
    /// The connection has to go.
    case close(SocketID, CloseCode)
}
