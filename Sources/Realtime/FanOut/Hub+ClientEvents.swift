import PusherProtocol

/// Events from clients.
extension Hub {
    mutating func relay(_ event: ClientEvent, from socket: SocketID, on name: ChannelName, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        guard let slot = apps[self[socket].app].slots[name], self[socket].subscriptions.contains(slot) else {
            let text = "Cannot broadcast client event (connection not subscribed to channel \(name.text))"
            return sendError(socket, text, &effects)
        }
        let userID = self[socket].memberIDs[slot]
        relay(event, from: socket, userID: userID, on: slot, &effects)
        // One webhook event only, with the channel name that the client used. Pusher does not have mirror channels, so
        // backends do not expect a second event.
        recordWebhookEvent(.clientEvent, on: slot) { .clientEvent(event, on: $0, from: socket, userID: userID) }
        let app = self[socket].app
        if isClustered { clusterChanges.append((app, .relayed(event, name, from: socket, userID: userID))) }
        guard let mirror = apps[app].rules.channels?.mirror(of: name) else { return }
        if isClustered { clusterChanges.append((app, .relayed(event, mirror, from: socket, userID: nil))) }
        if let slot = apps[app].slots[mirror] { relay(event, from: socket, userID: nil, on: slot, &effects) }
    }

    private mutating func relay(
        _ event: ClientEvent, from socket: SocketID, userID: String?, on slot: ChannelSlot, _ effects: inout [Effect]
    ) {
        channels[slot].events.add(at: now)
        let name = channels[slot].name
        func add(_ slot: ChannelSlot, hiding names: [String]) {
            for loop in channels[slot].loops {
                let instruction = Instruction.relay(event, name, slot, from: socket, userID: userID, hiding: names)
                effects.append(Effect(loop: loop, instruction: instruction))
            }
        }
        add(slot, hiding: [])
        if let (hidden, names) = hiddenSlot(of: slot) { add(hidden, hiding: names) }
    }
}
