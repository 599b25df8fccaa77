import FleetRules
import HTTPClient

/// The push provider of one lane: everything that differs between APNs, FCM and any further provider.
///
/// To add a provider, add a folder beside `APNs/` and `FCM/` with one function that returns this value. The lane, its
/// worker and its connections know no provider by name.
package struct Provider: Sendable {
    /// The lane that sends to this provider. ``PushLane/provider`` is the provider's name in the database and in
    /// metrics.
    package let lane: PushLane
    /// Window, retry and back-off limits.
    let rules: LaneRules
    /// The pool's options. ``ProviderConnection`` sets the time-out from `rules`, and the send buffers.
    let connection: HTTPPool.Options
    /// Makes the request that shows a message on a device. `now`: milliseconds since 1970.
    let makeRequest: @Sendable (PushMessage, PushJob.Device, _ authorization: String, _ now: Int64) -> HTTPClientRequest
    /// Maps a response. `sentAt` and `now`: milliseconds since 1970.
    let parseResponse: @Sendable (HTTPClientResponse, _ sentAt: Int64, _ now: Int64) -> SendResult
    /// Creates the credential, on the thread that owns the connection.
    let makeCredential: @Sendable () -> any ProviderCredential
}
