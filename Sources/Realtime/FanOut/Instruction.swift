import PusherProtocol

/// What the hub instructs one event loop to do. The loop's mailbox preserves the order of the instructions.
package enum Instruction: Equatable, Sendable {
    /// Adds the connection to the channel's subscribers.
    case join(ChannelSlot, SocketID)
    /// Removes the connection from the channel's subscribers.
    case leave(ChannelSlot, SocketID)
    /// Sends an event to the channel's subscribers on this loop, except to the connection `except`.
    case fanOut(Frame, ChannelSlot, except: SocketID?)
    /// Sends an event with null for some members of its data. Like ``fanOut(_:_:except:)`` otherwise. The loop encodes it, so
    /// that this work is not done while the hub is locked.
    indirect case fanOutHiding([String], in: Frame, ChannelName, ChannelSlot, except: SocketID?)
    /// Sends an event that has a number on its channel to the channel's subscribers on this loop.
    case notify(Frame, ChannelSlot, sequence: Int64)
    /// Sends a client's event to the channel's subscribers on this loop, except to its sender. The loop encodes it, so
    /// that this work is not done while the hub is locked.
    /// - Parameters:
    ///   - userID: the sender's on a presence channel, else nil.
    ///   - hiding: the members of the event's data that are null for these subscribers.
    indirect case relay(
        ClientEvent, ChannelName, ChannelSlot, from: SocketID, userID: String?, hiding: [String])
    /// Sends a message to one connection.
    case send(Frame, to: SocketID)
    /// Sends `subscription_succeeded`, with the member list, to a new subscriber.
    case sendPresence(PresenceList, to: SocketID)
    /// Confirms the user's sign-in. The loop encodes the user's data, so that this work is not done while the hub is
    /// locked.
    case sendSigninSuccess(SignedInUser, to: SocketID)
    /// Sends the state of the watched users. The loop encodes it, for the same reason.
    case sendWatchlist(online: [String], offline: [String], to: SocketID)
    /// Opens the subscriptions that wait for the connection's sign-in: see ``Hub/takeKeptName(of:)``.
    case openKeptNames(SocketID)
    /// Closes the connection.
    case close(SocketID, CloseCode)
}
