import Cluster
import FanOut
import PusherAPI
import PusherProtocol
import Threads

/// Questions to the other nodes, and the answers to theirs.
extension ClusterService {
    /// Asks all other nodes.
    /// - Parameter answered: called once, on any thread; not while the hub is locked.
    package func ask(_ question: ClusterQuestion, _ answered: @escaping @Sendable (Questions.Result) -> Void) {
        // The answer waits for the lock until it is known who has asked.
        let notices = asked.withLock { asked in
            let (ticket, notices) = hub.ask(question, at: Clock.monotonicMilliseconds())
            asked[ticket] = answered
            return notices
        }
        perform(notices)
    }

    /// A question has its answers.
    func complete(_ result: Questions.Result) {
        let answered = asked.withLock { $0.removeValue(forKey: result.ticket) }
        answered?(result)
    }

    /// Answers another node's question.
    func answer(_ ticket: UInt64, to node: Epoch, kind: UInt8, _ content: [UInt8]) {
        switch ClusterQuestion(kind: kind, content) {
        case .custom(let question)?:
            if let answer = answerCustom(question) { hub.answer(ticket, to: node, [answer]) }
        case .occupancy(let app, let channels)?:
            hub.answer(ticket, to: node, ChannelShare.parts(of: shares(of: channels, app: app)))
        case .channels(let app, let prefix)?:
            let index = apps.firstIndex(of: app)
            let names = index.map { app in Hub.occupiedChannels(app: app, prefix: prefix) { hub.read($0) }.map(\.name) } ?? []
            hub.answer(ticket, to: node, ChannelShare.parts(of: shares(of: names, app: app)))
        case .cachedEvent(let app, let name)?:
            let copy = apps.firstIndex(of: app).flatMap { app in
                ChannelName(name, lengthMax: .max).flatMap { hub.currentCopy(of: $0, app: app) }
            }
            hub.answer(ticket, to: node, [copy?.bytes ?? []])
        case .stats?: hub.answer(ticket, to: node, [sources.withLock { $0 }?.figures() ?? []])
        case .connections(let search)?:
            let hub = hub
            // If too many lists wait, the other node answers 503 after its second.
            _ = list(search) { hub.answer(ticket, to: node, $0.parts) }
        case .position(let socket)?:
            hub.answer(ticket, to: node, [position(of: socket).map { Array($0.description.utf8) } ?? []])
        // Of a newer node.
        case nil: break
        }
    }

    /// This node's share of channels.
    private func shares(of channels: [String], app: String) -> [ChannelShare] {
        guard let app = apps.firstIndex(of: app) else { return [] }
        return channels.compactMap { name in
            guard let channel = ChannelName(name, lengthMax: .max) else { return nil }
            let (occupancy, findUserIDs) = hub.read { hub in
                (hub.occupancy(of: channel, app: app), channel.isPresence ? hub.findUserIDs(on: channel, app: app) : nil)
            }
            return occupancy.map { ChannelShare(name: name, subscriptions: $0.subscriptions, users: findUserIDs?()) }
        }
    }

    /// The last event of a cache channel.
    /// - Parameter answered: gets nil if the channel has none.
    func cachedEvent(on channel: ChannelName, app: AppIndex, _ answered: @escaping @Sendable (CachedCopy?) -> Void) {
        if let copy = hub.currentCopy(of: channel, app: app) { return answered(copy) }
        ask(.cachedEvent(app: apps[app], channel: channel.text)) { answered(CachedCopy.newest(of: $0.answers)) }
    }

    /// The sums of channels over all nodes.
    /// - Parameters:
    ///   - channels: nil: all whose names begin with `prefix`.
    ///   - answered: gets nil if a node has not answered.
    func sum(
        _ channels: [ChannelName]?, prefix: String = "", app: AppIndex,
        _ answered: @escaping @Sendable (ChannelSums?) -> Void
    ) {
        // Each once: a batch may name a channel several times.
        let names = channels.map { Array(Set($0)).map(\.text).sorted() }
        let own =
            names ?? Hub.occupiedChannels(app: app, prefix: prefix) { hub.read($0) }.map(\.name)
        var sums = ChannelSums()
        sums.add(shares(of: own, app: apps[app]))
        let question: ClusterQuestion =
            names.map { .occupancy(app: apps[app], channels: $0) } ?? .channels(app: apps[app], prefix: prefix)
        ask(question) { [sums] result in
            guard result.isComplete else { return answered(nil) }
            var sums = sums
            for answer in result.answers { sums.add(ChannelShare.list(answer)) }
            answered(sums)
        }
    }
}
