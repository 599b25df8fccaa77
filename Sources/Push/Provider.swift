import FleetRules
import HTTPClient

/// The push provider of one lane: everything that differs between APNs, FCM and any further provider.
///
/// A provider is a folder beside `APNs/` and `FCM/` with one function that returns this value. The lane, its worker and
/// its connections know no provider by name.
package struct Provider: Sendable {
    /// The lane that sends through it. ``PushLane/provider`` is the provider's persisted name.
    package let lane: PushLane
    /// Window, retry and back-off limits.
    let rules: LaneRules
    /// How the pool connects. ``ProviderConnection`` takes the timeout from `rules`.
    let connection: HTTPPool.Options
    /// The request that shows a message on a device.
    let makeRequest: @Sendable (PushMessage, PushJob.Device, _ authorization: String, _ now: Int64) -> HTTPClientRequest
    /// What a response means for the job, its device and the lane.
    let parseResponse: @Sendable (HTTPClientResponse, _ sentAt: Int64, _ now: Int64) -> SendResult
    /// Creates the credential, on the thread that owns the connection.
    let makeCredential: @Sendable () -> any ProviderCredential
}
