import FanOut
import PusherProtocol

/// The last events of cache channels. A channel's keeper has it, the node that is to follow the keeper, and the nodes with
/// subscribers, who hear each event. A node that gets its first subscriber asks the others first.
extension ClusterLink {
    /// Whether this node's copy of the channel's last event is the newest.
    package func hasCurrentCache(of channel: ChannelName, app: AppIndex) -> Bool {
        let key = ChannelKey(app: rules[app].id, channel: channel.text)
        if keepers(of: key).contains(node.epoch) { return true }
        guard let token = interests.tokens[Interests.Key(app: app, channel: channel)] else { return false }
        return interests[token]?.isReady == true
    }

    /// An event was published on a cache channel.
    mutating func keepCached(_ frame: Frame, on channel: ChannelName, app: AppIndex) {
        let key = ChannelKey(app: rules[app].id, channel: channel.text)
        for keeper in keepers(of: key).all where keeper != node.epoch {
            publish(.cached(key, millisecondsLeft: EventCache.lifetime, frame: frame.bytes[...]), to: keeper)
        }
    }

    /// Gives nodes the last events of channels that they keep, now that the set of nodes has changed.
    /// - Parameters:
    ///   - earlier: the nodes before.
    ///   - events: the last events that this node has.
    package mutating func handOverCache(
        earlier: [Epoch], _ events: [(channel: ChannelName, app: AppIndex, copy: CachedCopy)]
    ) {
        let present = nodes
        for (channel, app, copy) in events {
            let key = ChannelKey(app: rules[app].id, channel: channel.text)
            let (before, after) = (Keepers(of: key, among: earlier), Keepers(of: key, among: present))
            guard before.all.first(where: present.contains) == node.epoch else { continue }
            for new in after.all where !before.contains(new) {
                publish(.cached(key, millisecondsLeft: copy.millisecondsLeft, frame: copy.frame.bytes[...]), to: new)
            }
        }
    }

    /// The channel's subject is heard from now on: asks what was published before.
    mutating func askForCached(_ token: UInt64, _ outputs: inout [Output]) {
        guard let key = interests[token]?.key, key.channel.isCache, isUp, membership.count > 0 else { return }
        interests[token]?.cacheAskedAt = now
        let ticket = ask(.cachedEvent(app: rules[key.app].id, channel: key.channel.text), at: now, &outputs)
        interests[token]?.cacheTicket = ticket
        cacheTickets[ticket] = token
    }

    /// The other nodes have said what they have.
    mutating func cacheAnswered(_ result: Questions.Result, _ token: UInt64, _ outputs: inout [Output]) {
        guard let interest = interests[token], interest.cacheTicket == result.ticket else { return }
        interests[token]?.cacheAskedAt = nil
        // An event that has come meanwhile is newer than all answers.
        if !interest.hasReceivedEvent, let copy = CachedCopy.newest(of: result.answers) {
            outputs.append(
                .hub(.cache(copy.frame, millisecondsLeft: copy.millisecondsLeft, on: interest.key.channel, app: interest.key.app))
            )
        }
        release(token, &outputs)
    }
}
