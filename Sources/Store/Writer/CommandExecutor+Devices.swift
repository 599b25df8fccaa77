import Access
import FleetRules
import JSON

/// Whose phone is whose, and what he wants to be told there.
extension CommandExecutor {
    /// Phones of one person; of more, the least recently seen goes.
    static let devicesMax = 20

    func settle(_ deed: DeviceRegistration, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        var settlement = CommandResult.done(command.action, body: deed.answer)
        switch deed.kind {
        case .register: try register(deed, command.actor, now, &settlement)
        case .unregister: try unregister(deed, command.actor, now, &settlement)
        }
        return settlement
    }

    private func register(
        _ deed: DeviceRegistration, _ actor: Identity, _ now: Int64, _ settlement: inout CommandResult
    ) throws(DatabaseError) {
        let known = try outbox.devices.device(id: DeviceTable.id(of: deed.token))
        let device = StoredDevice(deed, owner: actor.key, insteadOf: known, now: now)
        if let known, !known.owner.isSame(as: device.owner) {
            // The phone has changed hands.
            try outbox.cancel(of: known.owner, deviceID: known.id, reason: "new_owner", now: now)
            settlement.removed.append(known.removed("new_owner"))
        }
        let sealed = outbox.keys.seal(deed.token.text, deviceID: device.id)
        try outbox.devices.store(device, sealed: sealed, keyID: outbox.keys.currentID)
        if let known, known.owner.isSame(as: device.owner), known.lane != device.lane {
            try outbox.jobs.moveLane(of: device.owner, device.address, shift: transfer(from: known.lane, to: device.lane))
            settlement.lanes.insert(device.lane)
        }
        try replace(by: device, now, &settlement)
        try removeExcess(of: device.owner, but: device.id, now, &settlement)
        if let known, !known.owner.isSame(as: device.owner) { try outbox.bookings.removeIfNoDevices(known.owner) }
        if actor.role == .customer { try outbox.bookings.replace(of: device.owner, by: actor.bookings) }
    }

    private func transfer(from old: PushLane, to new: PushLane) -> Int64 { outbox.turn(of: new) - outbox.turn(of: old) }

    /// A phone's new token takes the place of the one it had, and the jobs that were to reach that.
    private func replace(by device: StoredDevice, _ now: Int64, _ settlement: inout CommandResult) throws(DatabaseError) {
        guard let name = device.name else { return }
        for old in try outbox.devices.devices(of: device.owner, named: name, but: device.id) {
            try outbox.jobs.transfer(
                of: device.owner, from: old.id, to: device.address, shift: transfer(from: old.lane, to: device.lane))
            // What the new token has a job for already.
            try outbox.cancel(of: device.owner, deviceID: old.id, reason: "replaced", now: now)
            try outbox.devices.remove(id: old.id)
            settlement.lanes.insert(device.lane)
            settlement.removed.append(old.removed("replaced"))
        }
    }

    private func removeExcess(of owner: String, but newest: String, _ now: Int64, _ settlement: inout CommandResult)
        throws(DatabaseError)
    {
        // Not the one that has just come, though the clock was set back and it looks the oldest.
        let others = try outbox.devices.devices(of: owner).filter { $0.id != newest }
        for device in others.prefix(max(0, others.count - (Self.devicesMax - 1))) {
            try outbox.cancel(of: owner, deviceID: device.id, reason: "too_many_devices", now: now)
            try outbox.devices.remove(id: device.id)
            settlement.removed.append(device.removed("too_many_devices"))
        }
    }

    /// Of a token that is unknown or somebody else's, nothing: whoever asks learns nothing of it either.
    private func unregister(
        _ deed: DeviceRegistration, _ actor: Identity, _ now: Int64, _ settlement: inout CommandResult
    ) throws(DatabaseError) {
        guard let device = try outbox.devices.device(id: DeviceTable.id(of: deed.token)), device.owner.isSame(as: actor.key)
        else { return }
        try outbox.cancel(of: device.owner, deviceID: device.id, reason: "unregistered", now: now)
        try outbox.devices.remove(id: device.id)
        try outbox.bookings.removeIfNoDevices(device.owner)
        settlement.removed.append(device.removed("unregistered"))
    }

    // MARK: Preferences

    func updatePreferences(_ changes: PreferenceChanges, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult
    {
        let owner = command.actor.key
        var preferences = outbox.readable(try outbox.preferences.json(of: owner), of: owner)
        do throws(RuleError) { try changes.apply(to: &preferences) } catch { return .rejected(command.action, error) }
        try outbox.preferences.store(preferences, of: owner, now: now)
        return .done(command.action, body: preferences.answer)
    }
}

extension DeviceRegistration {
    fileprivate var answer: [UInt8] {
        switch (endpoint, kind) {
        case (.appDevice, _): Array(#"{"success":true}"#.utf8)
        case (.fcmToken, .register): Array(#"{"message":"FCM token registered","data":null,"error":null}"#.utf8)
        case (.fcmToken, .unregister): Array(#"{"message":"FCM token removed","data":null,"error":null}"#.utf8)
        }
    }
}

extension StoredDevice {
    /// A phone as it is registered now. What its app left unsaid this time holds as it was, while it is the same owner's;
    /// what kind of phone it is, whoever's.
    fileprivate init(_ deed: DeviceRegistration, owner: String, insteadOf known: StoredDevice?, now: Int64) {
        let own = known.flatMap { $0.owner.isSame(as: owner) ? $0 : nil }
        self.init(
            id: DeviceTable.id(of: deed.token), provider: deed.token.provider, platform: deed.token.platform ?? known?.platform,
            environment: deed.token.environment, owner: owner, name: deed.deviceID ?? own?.name, masked: deed.token.masked,
            registeredAt: own?.registeredAt ?? now, lastSeenAt: now)
    }

    fileprivate var address: DeviceTable.Address { DeviceTable.Address(owner: owner, id: id, lane: lane) }
}

extension Preferences {
    /// The answer that shows them.
    var answer: [UInt8] {
        var answer = JSONWriter(capacity: 256)
        answer.raw(#"{"success":true,"data":"#)
        write(to: &answer)
        answer.raw("}")
        return answer.bytes
    }
}
