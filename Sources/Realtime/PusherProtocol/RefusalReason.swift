/// Why the gateway does not open a subscription, for its operators. The raw value is a label of metrics and a field of log
/// lines: dashboards and alerts use it.
package enum RefusalReason: String, CaseIterable, Sendable {
    /// The name of the channel is invalid (protocol point S8).
    case invalidName = "invalid_name"
    /// `auth` or `channel_data` is no text, and the channel needs it.
    case malformed
    /// The channel needs a signature, and the client has sent none (S11).
    case missingAuth = "missing_auth"
    /// `auth` does not begin with the key of the application.
    case otherKey = "other_key"
    /// The signature is not valid for this connection, channel and data.
    case signature
    /// The data of a presence channel's member is missing, invalid or too large (R8).
    case member
    /// The channel is that of another user (U5).
    case otherUser = "other_user"
    /// The channel is for signed-in users, and the connection has not signed in.
    case notSignedIn = "not_signed_in"
    /// The connection's user may not subscribe to the channel.
    case forbidden
    /// The right to the channel has ended, although it was signed.
    case ended
    /// The presence channel has as many members as it may have (R9).
    case members
    /// The connection or the application has as many subscriptions, or the application as many channels, as it may have
    /// (S7).
    case limit
    /// The connection has sent more commands per second than it may (S7).
    case rate
}
