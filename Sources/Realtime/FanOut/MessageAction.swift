import PusherProtocol

/// What the gateway does with a client's message: it replies, or applies an input to the hub. Computing the action does
/// no I/O, reads no clock and takes no lock.
package enum MessageAction: Sendable {
    /// Send the frame to the client. The hub is not involved.
    case reply(Frame)
    /// Send the frame to the client, whose subscription is refused.
    case refuse(Frame, SubscriptionRefusal)
    /// Apply the command (subscribe or unsubscribe) to the hub.
    case apply(Hub.Input)
    /// Apply the client event if the connection's limit of client events permits; otherwise drop it and send error 4301
    /// (protocol point E9).
    case applyRateLimited(Hub.Input)
    /// Store the user as the connection's signed-in user, then apply `.signin`.
    case signIn(SignedInUser)
    /// Record the time since the server's ping.
    case recordPong

    /// Decodes a message and chooses the action.
    /// - Parameters:
    ///   - text: one text message, as received.
    ///   - key: the key of the connection's application.
    ///   - user: the connection's signed-in user, if any.
    ///   - permitsCommand: counts a command (subscribe, unsubscribe, sign in), and returns whether the connection's limit of
    ///     commands permits it. Asked before a signature is verified, so that a refused command costs little.
    ///   - verify: returns whether `signature` is the hexadecimal HMAC-SHA256 of `stringToSign` with one of the
    ///     application's secrets.
    package init(
        to text: UnsafeRawBufferPointer, from socket: SocketID, key: String, rules: AppRules, user: SignedInUser?,
        permitsCommand: () -> Bool = { true }, verify: (_ stringToSign: String, _ signature: Substring) -> Bool
    ) {
        let limits = rules.limits
        do throws(ProtocolError) {
            let message = try ClientMessage(text)
            let isPermitted = !message.isCommand || permitsCommand()
            if case .subscribe(let request) = message {
                do throws(ProtocolError) {
                    guard isPermitted else { throw Self.tooManyCommands }
                    let grant = try request.grant(to: socket, key: key, limits: limits, user: user, verify: verify)
                    self = .apply(.subscribe(socket, grant))
                } catch {
                    let refusal = SubscriptionRefusal(error.refusal ?? .malformed, request.channel, rules)
                    self = .refuse(ServerMessage.error(error), refusal)
                }
                return
            }
            guard isPermitted else { throw Self.tooManyCommands }
            switch message {
            case .ping: self = .reply(ServerMessage.pong)
            case .pong: self = .recordPong
            case .subscribe: preconditionFailure("handled above")
            case .unsubscribe(let channel):
                guard let name = ChannelName(channel, lengthMax: limits.nameLength) else {
                    throw ProtocolError("No current subscription to channel \(channel.clipped), or subscription in progress")
                }
                self = .apply(.unsubscribe(socket, name))
            case .signin(let request):
                guard user == nil else {
                    throw ProtocolError("Already signed in: a connection cannot change its user", code: 4009)
                }
                self = .signIn(try request.user(on: socket, key: key, limits: limits, verify: verify))
            case .clientEvent(let event):
                let name = try event.target(isEnabled: rules.clientEvents, limits: limits)
                self = .applyRateLimited(.clientEvent(socket, event, on: name))
            }
        } catch {
            self = .reply(ServerMessage.error(error))
        }
    }
}

extension MessageAction {
    private static let tooManyCommands = ProtocolError(
        "Command rejected: more than the allowed number per second", code: 4301, refusal: .rate)
}

extension ClientMessage {
    /// Whether the message changes what the hub knows of the connection.
    fileprivate var isCommand: Bool {
        switch self {
        case .subscribe, .unsubscribe, .signin: true
        case .ping, .pong, .clientEvent: false
        }
    }
}
