import Fleet
import HTTPClient

/// The push provider of one lane (``PushLane``): everything that differs between APNs, FCM and any further provider.
///
/// To add a provider, add a folder beside `APNs/` and `FCM/` with a function that returns a `Provider`. The code of the
/// lane, its worker and its connections is the same for all providers.
package struct Provider: Sendable {
    /// The lane that sends to this provider. ``PushLane/provider`` is the provider's name in the database and in
    /// metrics.
    package let lane: PushLane
    /// The lane's limits, such as the number of requests in flight.
    let rules: LaneRules
    /// Options of the connection pool. ``ProviderConnection`` overwrites two of them: the time-out, with that of
    /// `rules`, and the size of the send buffer.
    let poolOptions: HTTPPool.Options
    /// Makes the request that shows a message on a device. `now`: milliseconds since 1970.
    let makeRequest: @Sendable (PushMessage, PushJob.Device, _ authorization: String, _ now: Int64) -> HTTPClientRequest
    /// Maps a response to a result. `sentAt` is when the request was sent; it and `now` are milliseconds since 1970.
    let parseResponse: @Sendable (HTTPClientResponse, _ sentAt: Int64, _ now: Int64) -> SendResult
    /// Creates the credential, on the thread that owns the connection.
    let makeCredential: @Sendable () -> any ProviderCredential
}
