import Access
import Primitives

/// Drivers' switches: whether they want to hear of new batches.
extension CommandExecutor {
    func switchAvailability(
        _ isOnline: Bool, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        try withApprovedAccount(of: command.actor) { account throws(DatabaseError) in
            let stored = try outbox.availability.availability(of: account)
            if let stored, stored.isOnline == isOnline {
                return .committed(result(.availability(AvailabilityState(stored)), of: command))
            }
            let availability = Availability(
                accountID: account.id, personID: account.personID, isOnline: isOnline, since: context.now)
            return try store(availability, responding: .availability(AvailabilityState(availability)), command, context)
        }
    }

    /// Takes a driver offline who was away for long, unless the driver has come back since that was found.
    func endAvailability(
        of id: ObjectID, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        guard let account = try accounts.account(id: id), !isConnected(account.personID),
            lastRequest(account.personID).map({ context.now - clockLead - $0 >= Availability.idleMax }) ?? true
        else { return .committed(result(.ofGateway, of: command)) }
        return try endAvailability(of: account, responding: .ofGateway, command, context)
            ?? .committed(result(.ofGateway, of: command))
    }

    /// - Returns: nil if the driver is offline, or has never used the switch.
    func endAvailability(
        of account: Account, responding response: CommandResponse, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply? {
        guard let offline = try switchingOff(account, context.now) else { return nil }
        return try store(offline, responding: response, command, context)
    }

    /// The driver's switch once it is off. Nil if the driver is offline, or has never used the switch.
    func switchingOff(_ account: Account, _ now: Int64) throws(DatabaseError) -> Availability? {
        guard var availability = try outbox.availability.availability(of: account), availability.isOnline else { return nil }
        (availability.isOnline, availability.since) = (false, now)
        return availability
    }

    private func store(
        _ availability: Availability, responding response: CommandResponse, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        try execute(command, context.now) { planner throws(RuleError) in
            try planner.switchAvailability(to: availability, responding: response, context)
        }
    }

    /// A driver who removes the last device logs out, and so goes offline.
    func execute(
        _ registration: DeviceRegistration, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        let result = try execute(registration, command, context.now)
        guard registration.kind == .unregister, !result.removed.isEmpty, command.actor.role == .driver,
            try outbox.devices.devices(of: command.actor.key).isEmpty,
            let account = try accounts.account(of: command.actor),
            case .committed(var offline) = try endAvailability(
                of: account, responding: .device(registration.kind, registration.endpoint), command, context)
        else { return .committed(result) }
        offline.removed = result.removed
        offline.lanes.formUnion(result.lanes)
        return .committed(offline)
    }
}
