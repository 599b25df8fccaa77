/// The effects of an action. The store writes them in one transaction; the gateway publishes the notifications after
/// the commit.
package struct DispatchPlan: Equatable, Sendable {
    /// The order's new state; nil if no order changes.
    package var order: Order?
    /// The route's new state; nil if no route changes.
    package var route: Route?
    /// The driver's new card; nil if no card changes.
    package var driver: DriverCard?
    /// The account's new state; nil if no account changes.
    package var account: Account?
    /// Nil if no batch changes.
    package var batch: BatchChange?
    /// The driver's switch after the command; nil if it does not change.
    package var availability: Availability?
    /// In the order in which they are published. Apps depend on this order.
    package var notifications: [Notification] = []
    /// The notifications that are pushed to devices as well.
    package var pushes: [PushIntent] = []
    /// Nil if nothing changes, for example if the assigned driver is assigned again.
    package var audit: AuditEntry?
    package var response: CommandResponse
    /// Whether the command repeats the one before it: nothing changes, and the response is that of the first.
    package var isRepetition = false
    /// The response to a repetition of the request with the same idempotency key; nil: ``response``.
    package var repetition: CommandResponse?

    package init(response: CommandResponse) { self.response = response }
}
