import Primitives

/// The constants of time of webhooks.
extension Timing {
    /// `channel_vacated` and `member_removed` are sent so much later, and only if they still hold (protocol point V5).
    static let webhookDebounce = milliseconds(3_000)
    /// How long the first event of a batch waits for others.
    static let webhookLinger = milliseconds(1_000)
    /// The longest time of one request to an endpoint.
    static let webhookRequestMax = milliseconds(10_000)
    /// The longest time from a request's first attempt to its last (protocol point V10).
    static let webhookRetryWindow = milliseconds(300_000)
    /// The time from an endpoint's first failure to the next attempt, before jitter (±25 %). Each further one is twice as
    /// long.
    static let webhookBackoff = milliseconds(1_000)
    /// The longest time between two attempts, before jitter.
    static let webhookBackoffMax = milliseconds(60_000)
    /// From the refusal of a part of a batch to the next request. It bounds the requests to an endpoint that refuses
    /// everything: splitting a batch of a hundred events takes two hundred.
    static let webhookSplitDelay = milliseconds(100)
}
