import Observability

/// What the fleet and its store bound.
extension Limit {
    static let authRequestsPerSecond = Self("auth_requests_per_second")
    static let fleetCommandsPerSecond = Self("fleet_commands_per_second")
    static let fleetCommandsWaiting = Self("fleet_commands_waiting")
    static let fleetQueriesPerSecond = Self("fleet_queries_per_second")
    static let fleetQueriesWaiting = Self("fleet_queries_waiting")
    /// Stored responses of a subject; the oldest are deleted.
    static let idempotencyKeys = Self("idempotency_keys")
    /// Devices of an owner whose place in a channel is remembered; the one used longest ago is forgotten.
    static let devices = Self("devices")
    /// Confirmations of notifications that wait for the store. The oldest are dropped, which costs repetitions.
    static let receipts = Self("receipts")
    /// Events `delivery-updated` that were not published, because a loop's mailbox was full.
    static let deliveryUpdates = Self("delivery_updates")
    /// Open orders and routes on which nobody has acted for so long; they are cancelled.
    static let openDays = Self("open_days")
    /// Pushes for a booking that has more customers, or more devices, than get them.
    static let bookingCustomers = Self("booking_customers")
    /// Jobs of one driver that are followed; the one that began first is followed no more.
    static let followedJobs = Self("followed_jobs")
    /// Jobs with one booking's reference that are shown under it; the one that began first is shown no more.
    static let bookingJobs = Self("booking_jobs")
    /// The queue of queries.
    static let storeReaderQueue = Self("store_reader_queue")
    /// The queue of requests with tokens of unknown keys.
    static let tokenKeysQueue = Self("token_keys_queue")
    /// Opaque tokens that are asked about at once; 503.
    static let introspectedTokens = Self("introspected_tokens")
    /// Requests that wait for the answer about one opaque token; 503.
    static let introspectionWaiters = Self("introspection_waiters")
    /// Answers about opaque tokens for which there was no room; their tokens are asked about again.
    static let introspectionAnswers = Self("introspection_answers")
    /// The time for the store's response to a request; 503.
    static let storeSeconds = Self("store_seconds")

    /// All limits of the fleet, in the order of their samples in `/metrics`.
    static let ofFleet = [
        authRequestsPerSecond, fleetCommandsPerSecond, fleetCommandsWaiting, fleetQueriesPerSecond, fleetQueriesWaiting,
        idempotencyKeys, devices, receipts, deliveryUpdates, openDays, bookingCustomers, followedJobs, bookingJobs,
        storeReaderQueue, tokenKeysQueue, introspectedTokens, introspectionWaiters, introspectionAnswers, storeSeconds,
    ]
}
