import Access

/// Registers or removes a device of the actor.
extension DeviceRegistration: Command {
    /// The most devices per user. If a user registers one more, the user's device whose last registration is
    /// oldest is removed.
    static let devicesMax = 20

    package var name: String { kind == .register ? "device_register" : "device_unregister" }
    package var subject: String { token.masked }

    /// Registering may move the jobs of the device to another lane and those of an older token to this one, and take the
    /// place of the oldest device. A driver who removes the last device goes offline.
    package var rows: Int {
        switch kind {
        case .register: 1 + 2 * PushJobTable.movedMax + 3 * RowBound.device + 2 * RowBound.bookings
        case .unregister: RowBound.device + RowBound.bookings + RowBound.change + RowBound.notification
        }
    }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        var result = transaction.result(.device(kind, form))
        switch kind {
        case .register: try register(transaction, &result)
        case .unregister:
            try unregister(transaction, &result)
            if let offline = try goOffline(transaction, after: result) { return .committed(offline) }
        }
        return .committed(result)
    }

    // MARK: Registration

    private func register(_ transaction: Transaction, _ result: inout CommandResult) throws(DatabaseError) {
        let (outbox, actor, now) = (transaction.stores.outbox, transaction.actor, transaction.now)
        let known = try outbox.devices.device(id: DeviceTable.id(of: token))
        let device = StoredDevice(self, owner: actor.key, insteadOf: known, now: now)
        if let known, !known.owner.hasSameBytes(as: device.owner) {
            // Another user signed in on the device.
            try outbox.cancel(of: known.owner, deviceID: known.id, reason: "new_owner", now: now)
            result.effects.append(.deviceRemoved(known.removed("new_owner")))
        }
        let sealed = outbox.keys.seal(token.text, deviceID: device.id)
        try outbox.devices.store(device, sealed: sealed, keyID: outbox.keys.currentID)
        if let known, known.owner.hasSameBytes(as: device.owner),
            known.lane != device.lane || known.environment != device.environment
        {
            // Jobs of a token with an unknown environment may be in either lane: the sandbox is tried after production.
            let former = known.lane == device.lane ? PushLane.apnsSandbox : known.lane
            let shift = outbox.turns.offset(from: former, to: device.lane)
            try outbox.jobs.moveLane(of: device.owner, device.address, shift: shift)
            result.effects.append(.lanesWoken([device.lane]))
        }
        try replaceOldToken(by: device, outbox, now, &result)
        try removeExcess(of: device.owner, keeping: device.id, outbox, now, &result)
        if let known, !known.owner.hasSameBytes(as: device.owner) { try outbox.bookings.removeIfNoDevices(known.owner) }
        if actor.role == .customer {
            try outbox.bookings.replace(of: device.owner, by: actor.bookings, issuedAt: actor.tokenIssuedAt)
        }
    }

    /// If the app has registered a new token with the `deviceId` of a registered device, replaces the old token: moves
    /// its jobs to the new token, and removes the old row.
    private func replaceOldToken(
        by device: StoredDevice, _ outbox: PushOutbox, _ now: Int64, _ result: inout CommandResult
    ) throws(DatabaseError) {
        guard let name = device.name else { return }
        for old in try outbox.devices.devices(of: device.owner, named: name, but: device.id) {
            try outbox.jobs.transfer(
                of: device.owner, from: old.id, to: device.address, shift: outbox.turns.offset(from: old.lane, to: device.lane))
            // Cancels the jobs that were not transferred because the new token already has jobs of the same
            // notifications.
            try outbox.cancel(of: device.owner, deviceID: old.id, reason: "replaced", now: now)
            try outbox.devices.remove(id: old.id)
            result.effects.append(.lanesWoken([device.lane]))
            result.effects.append(.deviceRemoved(old.removed("replaced")))
        }
    }

    /// Removes a user's devices beyond ``devicesMax``: those whose last registration is oldest.
    /// - Parameter newest: the device that was just registered. It is kept even if its time is the oldest because the
    ///   clock was set back.
    private func removeExcess(
        of owner: String, keeping newest: String, _ outbox: PushOutbox, _ now: Int64, _ result: inout CommandResult
    ) throws(DatabaseError) {
        let others = try outbox.devices.devices(of: owner).filter { $0.id != newest }
        for device in others.prefix(max(0, others.count - (Self.devicesMax - 1))) {
            try outbox.cancel(of: owner, deviceID: device.id, reason: "too_many_devices", now: now)
            try outbox.devices.remove(id: device.id)
            result.effects.append(.deviceRemoved(device.removed("too_many_devices")))
        }
    }

    // MARK: Removal

    /// Removes a device of the user. Ignores unknown tokens and other users' tokens. The response is the same in all
    /// cases, so it does not reveal whether a token is registered.
    private func unregister(_ transaction: Transaction, _ result: inout CommandResult) throws(DatabaseError) {
        let outbox = transaction.stores.outbox
        guard let device = try outbox.devices.device(id: DeviceTable.id(of: token)),
            device.owner.hasSameBytes(as: transaction.actor.key)
        else { return }
        try outbox.cancel(of: device.owner, deviceID: device.id, reason: "unregistered", now: transaction.now)
        try outbox.devices.remove(id: device.id)
        try outbox.bookings.removeIfNoDevices(device.owner)
        result.effects.append(.deviceRemoved(device.removed("unregistered")))
    }

    /// A driver who removes the last device logs out, and so goes offline.
    /// - Returns: nil if nothing changes.
    private func goOffline(
        _ transaction: Transaction, after result: CommandResult
    ) throws(DatabaseError) -> CommandResult? {
        let (stores, actor) = (transaction.stores, transaction.actor)
        guard !result.effects.isEmpty, actor.role == .driver, try stores.outbox.devices.devices(of: actor.key).isEmpty,
            let account = try stores.accounts.account(of: actor),
            case .committed(var offline) = try transaction.endAvailability(of: account, responding: .device(kind, form))
        else { return nil }
        offline.effects += result.effects
        return offline
    }
}

extension StoredDevice {
    /// The device as registered now. If the owner is the same, the time of the first registration and an omitted name
    /// keep their stored values. An omitted platform or APNs environment keeps its stored value even if the owner is
    /// another.
    fileprivate init(_ action: DeviceRegistration, owner: String, insteadOf known: StoredDevice?, now: Int64) {
        let own = known.flatMap { $0.owner.hasSameBytes(as: owner) ? $0 : nil }
        self.init(
            id: DeviceTable.id(of: action.token), provider: action.token.provider,
            platform: action.token.platform ?? known?.platform,
            environment: action.token.environment ?? known?.environment, owner: owner,
            name: action.deviceID ?? own?.name, maskedToken: action.token.masked, registeredAt: own?.registeredAt ?? now,
            lastSeenAt: now)
    }

    var address: DeviceTable.Address { DeviceTable.Address(owner: owner, id: id, lane: lane) }
}
