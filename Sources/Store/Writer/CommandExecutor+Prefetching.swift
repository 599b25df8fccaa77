import FleetRules

extension CommandExecutor {
    /// Says what a command is about to read whatever its state is, so that a server gets all of it in one message.
    func prefetch(_ command: Command) throws(DatabaseError) {
        switch command.action {
        case .order(let action):
            try orders.prefetch(code: action.code)
            if case .assign(let driver) = action.kind { try prefetchChannels(ofDriver: driver.id.text) }
        case .route(let action):
            try routes.prefetch(id: action.id)
            if case .assign(let driver) = action.kind { try prefetchChannels(ofDriver: driver.id.text) }
        case .acceptJob(let id), .progress(let id, _):
            try orders.prefetch(code: id)
            try drivers.prefetch(driverID: command.actor.id)
            try prefetchChannels(ofDriver: command.actor.id)
        case .acceptRoute(let id):
            try routes.prefetch(id: id)
            try prefetchChannels(ofDriver: command.actor.id)
        case .driverCard(let id, _): try drivers.prefetch(driverID: id)
        default: break
        }
    }

    /// The sequences of the channels that nearly all notifications of drivers' actions are on.
    private func prefetchChannels(ofDriver id: String) throws(DatabaseError) {
        for channel in [FleetChannel.admin, .driver(id)] { try sequences.prefetch(channel: channel.name) }
    }
}
