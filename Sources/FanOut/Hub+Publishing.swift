import PusherProtocol

/// Events of backends and of clients.
extension Hub {
    mutating func publish(
        _ publication: Publication, _ app: AppIndex, except sender: SocketID?, _ effects: inout [Effect]
    ) {
        // K5: kept whomever it excludes, and whether or not anybody listens.
        if publication.channel.isCache { apps[app].cache.store(publication.frame, on: publication.channel, at: now) }
        guard let slot = apps[app].slots[publication.channel] else { return }
        fanOut(publication.frame, on: slot, except: sender, &effects)
    }

    mutating func relay(_ event: ClientEvent, from socket: SocketID, on name: ChannelName, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        guard let slot = apps[self[socket].app].slots[name],
            let membership = self[socket].subscriptions.first(where: { $0.slot == slot })
        else {
            let text = "Cannot broadcast client event (connection not subscribed to channel \(name.text))"
            return sendError(socket, text, &effects)
        }
        fanOut(
            ServerMessage.clientEvent(event, channel: name, userID: membership.userID), on: slot, except: socket, &effects)
        // Once, under the name it was sent to: that its twin hears it too is our affair.
        recordWebhookEvent(.clientEvent, on: slot) { .clientEvent(event, on: $0, from: socket, userID: membership.userID) }
        if let twin = apps[self[socket].app].rules.policy?.mirror(of: name), let slot = apps[self[socket].app].slots[twin] {
            fanOut(ServerMessage.clientEvent(event, channel: twin, userID: nil), on: slot, except: socket, &effects)
        }
    }
}
