import PusherProtocol

/// An effect of the hub that one loop performs. A loop's mailbox keeps instructions in the hub's order.
package enum Instruction: Equatable, Sendable {
    /// Adds the connection to the channel's subscribers.
    case join(ChannelSlot, SocketID)
    /// Removes the connection from the channel's subscribers.
    case leave(ChannelSlot, SocketID)
    /// An event for the channel's subscribers on this loop.
    case fanOut(Frame, ChannelSlot, except: SocketID?)
    /// A message for one connection.
    case send(Frame, to: SocketID)
    /// The member list for a new subscriber. The loop encodes it, to keep that work out of the hub's lock.
    case sendPresence(ChannelName, [PresenceMember], to: SocketID)
    /// Closes the connection.
    case close(SocketID, CloseCode)
}
