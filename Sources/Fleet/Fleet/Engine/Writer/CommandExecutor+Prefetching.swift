import Access

extension CommandExecutor {
    /// What ``shownCard(ofDriver:)`` reads of a card that lacks something.
    func prefetchShownCard(ofDriver id: String) throws(DatabaseError) {
        try drivers.prefetch(driverID: id)
        try accounts.prefetch(personID: id)
    }

    /// What it takes to tell the driver.
    func prefetchAssignment(to driverID: String, _ now: Int64) throws(DatabaseError) {
        try prefetchChannels(ofDriver: driverID)
        try outbox.prefetchDevices(of: Identity(role: .driver, id: driverID), now: now)
    }

    /// What the effects of a plan read, as far as the plan says it.
    func prefetch(_ plan: DispatchPlan, now: Int64) throws(DatabaseError) {
        for notification in plan.notifications { try sequences.prefetch(channel: notification.channel) }
        guard plan.pushes.count <= Self.pushesMax else { return }
        for push in plan.pushes {
            switch push.audience {
            case .driver(let id): try outbox.prefetchDevices(of: Identity(role: .driver, id: id), now: now)
            case .customer(let id): try outbox.prefetchDevices(of: Identity(role: .customer, id: id), now: now)
            case .booking(let reference): try outbox.bookings.prefetchOwners(of: reference)
            case .everyDriver, .onlineDrivers: break
            }
        }
    }

    /// What the plan of a driver's own action reads of the driver.
    func prefetchDriver(_ id: String) throws(DatabaseError) {
        try prefetchShownCard(ofDriver: id)
        try prefetchChannels(ofDriver: id)
    }

    /// The sequences of the channels that nearly all notifications of drivers' actions are on.
    private func prefetchChannels(ofDriver id: String) throws(DatabaseError) {
        for channel in [FleetChannel.admin, .driver(id)] { try sequences.prefetch(channel: channel.name) }
    }
}
