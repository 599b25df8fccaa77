import Fleet

/// What a provider's response means for the job, its device and the lane.
package enum SendResult: Equatable, Sendable {
    /// `messageID`: the provider's id of the message, if it gives one.
    case accepted(messageID: String?)
    /// The job fails; device and lane are not affected. `alarm`: an operator has to act.
    case rejected(reason: String, alarm: Bool)
    /// The device's token is no longer valid: the job fails, and the store removes the device, unless its app has
    /// registered again since the token became invalid.
    case invalidToken(DeviceRemoval)
    /// The device's token is not valid here. Either it never was, which is rare, or the configuration is wrong (host,
    /// topic or project). ``RejectionBreaker`` decides whether this counts as `invalidToken`.
    case doubtfulToken(DeviceRemoval)
    /// The token is not valid in this APNs environment. If the token's environment is unknown, the other one is tried;
    /// otherwise this counts as `doubtfulToken`.
    case wrongEnvironment(DeviceRemoval)
    /// The provider does not know the topic, project or path of the request, which usually is an error in the
    /// configuration. ``RejectionBreaker`` decides whether the job fails and an operator has to act, or the lane stops.
    case unknownAddress(reason: String)
    /// Try again, after at least `after` milliseconds if the provider gave a time.
    case retry(reason: String, after: Int64?)
    /// The device got too many pushes: only its jobs wait, at least `after` milliseconds if the provider gave a time.
    case deviceThrottled(reason: String, after: Int64?)
    /// The credential has expired: the lane gets a new one and sends the job again.
    case credentialExpired(reason: String)
    /// Nothing can be sent until an operator fixes the configuration; the job goes back to the queue. `newConnection`:
    /// the next attempt needs a new connection.
    case configurationError(reason: String, newConnection: Bool)
    /// The response is not the provider's. The job is tried again; if the next response is not the provider's either,
    /// this counts as a `configurationError`, because no push gets to the provider until the cause is removed.
    case foreign(reason: String)
    /// APNs got too many provider tokens over this connection: try again; if it persists, on another connection.
    case tooManyTokens(reason: String)
    /// The server is closing this connection: send again on another.
    case goAway(reason: String)
    /// The server is shutting down: try again later, as for `retry`, and on another connection.
    case shutdown(reason: String, after: Int64?)
}
