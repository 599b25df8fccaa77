import Access

extension CommandExecutor {
    /// Says what a command is about to read whatever its state is, so that a server gets all of it in one message.
    func prefetch(_ command: Command, now: Int64) throws(DatabaseError) {
        switch command.action {
        case .order(let action):
            try orders.prefetch(code: action.code)
            if case .assign(let driver) = action.kind {
                if driver.name == nil { try prefetchShownCard(ofDriver: driver.id.text) }
                try prefetchAssignment(to: driver.id.text, now)
            }
        case .route(let action):
            try routes.prefetch(id: action.id)
            if case .assign(let driver) = action.kind { try prefetchAssignment(to: driver.id.text, now) }
        case .acceptJob(let id), .progress(let id, _):
            try orders.prefetch(code: id)
            try prefetchShownCard(ofDriver: command.actor.id)
            try prefetchChannels(ofDriver: command.actor.id)
        case .correctArrival(let code, _): try orders.prefetch(code: code)
        case .acceptRoute(let id):
            try routes.prefetch(id: id)
            try prefetchShownCard(ofDriver: command.actor.id)
            try prefetchChannels(ofDriver: command.actor.id)
        case .driverCard(let id, _): try prefetchShownCard(ofDriver: id)
        default: break
        }
    }

    /// What ``shownCard(ofDriver:)`` reads of a card that lacks something.
    private func prefetchShownCard(ofDriver id: String) throws(DatabaseError) {
        try drivers.prefetch(driverID: id)
        try accounts.prefetch(personID: id)
    }

    /// What it takes to tell the driver.
    private func prefetchAssignment(to driverID: String, _ now: Int64) throws(DatabaseError) {
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

    /// The sequences of the channels that nearly all notifications of drivers' actions are on.
    private func prefetchChannels(ofDriver id: String) throws(DatabaseError) {
        for channel in [FleetChannel.admin, .driver(id)] { try sequences.prefetch(channel: channel.name) }
    }
}
