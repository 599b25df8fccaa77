import FleetRules

/// What a provider's answer means for the job, its device and its lane (PUSH.md sections 1 and 2).
package enum SendResult: Equatable, Sendable {
    /// With the provider's id of the message, where it gives one.
    case accepted(messageID: String?)
    /// This job fails for good, and nothing else. `alarm`: an operator has to look.
    case rejected(reason: String, alarm: Bool)
    /// The token is dead: the job fails, and the device goes unless it was registered again since.
    case invalidToken(DeviceRemoval)
    /// To be tried again, `after` milliseconds from now at the earliest, if the provider says how long.
    case retry(reason: String, after: Int64?)
    /// Too many to this one device: its jobs wait, nobody else's; `after` milliseconds from now at the earliest, if the
    /// provider says how long.
    case deviceThrottled(reason: String, after: Int64?)
    /// The credential is too old: a new one, and at once again.
    case credentialExpired(reason: String)
    /// Nothing can be sent until an operator has mended the configuration: the job goes back to the queue. `newConnection`:
    /// the next try needs one.
    case configurationError(reason: String, newConnection: Bool)
    /// The connection has seen more of us than the provider allows: to be tried again, and if that goes on, on another.
    case tooManyTokens(reason: String)
    /// The server has had enough of this connection: at once again, on another.
    case goAway(reason: String)
}
