import PusherProtocol

/// What a ``HubGate`` needs of the hub.
extension Hub {
    /// What runs on top of the hub.
    package var gate: (any HubGate)? { gates.first }

    /// Takes the gate out of the hub, so that it can change both itself and the hub. ``put(_:)`` must follow.
    package mutating func takeGate() -> (any HubGate)? { gates.popLast() }

    /// Puts the gate back that ``takeGate()`` has returned.
    package mutating func put(_ gate: any HubGate) { gates.append(gate) }

    /// An open connection; nil if it is closed.
    package func subscriber(_ socket: SocketID) -> Subscriber? {
        guard isOpen(socket) else { return nil }
        return Subscriber(socket: socket, app: self[socket].app, user: self[socket].user)
    }

    /// The connections that are signed in as a user.
    package func connections(ofUser id: String, app: AppIndex) -> [SocketID] { apps[app].users.connections(of: id) }

    /// Sets the identifiers that were verified for a connection: those of its people, in the order in which operators see
    /// them. An identifier may be `kind:id`. With the first ones, the connection is no longer anonymous.
    package mutating func setIdentifiers(_ identifiers: [String], of socket: SocketID) {
        guard isOpen(socket) else { return }
        if !identifiers.isEmpty { stopCountingAsAnonymous(socket) }
        self[socket].identifiers = identifiers
    }

    /// Subtracts an anonymous connection from ``Channel/anonymousCount`` of its channels. Call this before you add an
    /// identifier or a user to a connection, because the connection is not anonymous afterwards. Does nothing if the
    /// connection is not anonymous.
    mutating func stopCountingAsAnonymous(_ socket: SocketID) {
        guard self[socket].isAnonymous else { return }
        for slot in self[socket].subscriptions.elements { channels[slot].anonymousCount -= 1 }
    }

    /// Whether a channel has anonymous subscribers for whom a backend has signed. A plain name needs no signature, so its
    /// anonymous subscribers may be anybody.
    package func hasSignedAnonymousSubscribers(on channel: ChannelName, app: AppIndex) -> Bool {
        apps[app].slots[channel].map { channels[$0].signedAnonymousCount > 0 } ?? false
    }

    /// Ends those of a connection's subscriptions that a condition selects, each with an error event that has the reason.
    package mutating func endSubscriptions(
        of socket: SocketID, because reason: String, _ effects: inout [Effect], where isLost: (ChannelName) -> Bool
    ) {
        guard isOpen(socket) else { return }
        for slot in self[socket].subscriptions.elements {
            let channel = channels[slot].name
            guard isLost(channel) else { continue }
            _ = self[socket].subscriptions.remove(slot)
            leave(slot, socket, &effects)
            sendError(socket, "Your subscription to \(channel.text) has ended: \(reason)", &effects)
        }
    }

    /// Publishes an event that no cache channel keeps.
    /// - Parameter sequence: the event's number on its channel; nil if events have none there. The loops need the number:
    ///   those subscribers who have the event already must not get it again.
    package mutating func publish(
        _ publication: Publication, numbered sequence: Int64?, app: AppIndex, _ effects: inout [Effect]
    ) {
        guard let slot = apps[app].slots[publication.channel] else { return }
        channels[slot].events.add(at: now)
        guard let sequence else { return fanOut(publication.frame, on: slot, &effects) }
        for loop in channels[slot].loops {
            effects.append(Effect(loop: loop, instruction: .notify(publication.frame, slot, sequence: sequence)))
        }
        fanOutHidden(publication.frame, on: slot, except: nil, &effects)
    }

    // MARK: Reports

    /// Whether ``drainReports(_:)`` has any to pass.
    package var hasReports: Bool { !reports.isEmpty }

    /// Tells the owner of the hub something, which the gate knows the meaning of.
    package mutating func report(_ text: String) { reports.append(text) }

    /// Passes what the gate has reported, in order, and removes it. Call this after each input while the hub is still
    /// locked.
    package mutating func drainReports(_ consume: (String) -> Void) {
        for report in reports { consume(report) }
        reports.removeAll(keepingCapacity: true)
    }
}
