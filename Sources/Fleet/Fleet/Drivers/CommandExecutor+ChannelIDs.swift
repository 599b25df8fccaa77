import Primitives

/// Admins may name a driver by the driver's account, too. Everything else knows only the id in channels.
extension CommandExecutor {
    /// The same action, with the ids in channels instead of the ids of accounts.
    func withChannelIDs(_ action: Command.Action) throws(DatabaseError) -> Command.Action {
        switch action {
        case .order(var action):
            if case .assign(let driver) = action.kind { action.kind = .assign(try withChannelID(driver)) }
            action.fallbackDriver = try withChannelID(action.fallbackDriver)
            return .order(action)
        case .route(var action):
            if case .assign(let driver) = action.kind { action.kind = .assign(try withChannelID(driver)) }
            action.fallbackDriver = try withChannelID(action.fallbackDriver)
            return .route(action)
        case .driverCard(let id, let changes): return .driverCard(driverID: try accounts.channelID(ofDriver: id), changes)
        case .announce(var announcement):
            guard case .drivers(let ids) = announcement.audience else { return action }
            var channelIDs: [String] = []
            for id in ids { channelIDs.append(try accounts.channelID(ofDriver: id)) }
            announcement.audience = .drivers(channelIDs)
            return .announce(announcement)
        // These name their driver by the token, or look for the account themselves.
        case .acceptJob, .acceptRoute, .progress, .correctArrival, .trip, .remind, .telemetry, .markRead, .device,
            .updatePreferences,
            .erase, .account, .batch, .switchAvailability, .endAvailability, .code:
            return action
        }
    }

    private func withChannelID(_ driver: Assignment.Driver) throws(DatabaseError) -> Assignment.Driver {
        Assignment.Driver(id: Identifier(try accounts.channelID(ofDriver: driver.id.text)), name: driver.name)
    }

    private func withChannelID(_ id: Identifier?) throws(DatabaseError) -> Identifier? {
        guard let id else { return nil }
        return Identifier(try accounts.channelID(ofDriver: id.text))
    }
}
