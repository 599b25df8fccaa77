import Access

/// Fills customers' inboxes.
extension CommandExecutor {
    /// Adds a notification to the inboxes of the customers to whom it is pushed, unless it is on their own channel.
    func addToInboxes(
        _ push: PushIntent, of notifications: [Notification], _ now: Int64
    ) throws(DatabaseError) {
        let customers: [Identity]
        switch push.audience {
        case .customer(let id): customers = [Identity(role: .customer, id: id)]
        case .booking(let reference):
            customers = try outbox.bookings.owners(of: reference).owners.compactMap { Identity(key: $0) }
        case .driver, .everyDriver, .onlineDrivers: return
        }
        guard let notification = notifications.first(where: { $0.id == push.notificationID }) else { return }
        for customer in customers where !notification.channel.hasSameBytes(as: customer.channel) {
            let sequence = try sequences.addUnread(channel: customer.channel, now: now)
            try inbox.add(notification, for: customer.key, afterSequence: sequence)
        }
    }
}
