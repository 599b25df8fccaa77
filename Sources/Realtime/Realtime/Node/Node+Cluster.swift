import Cluster
import FanOut
import HTTP
import PusherAPI
import PusherProtocol
import Server

/// Requests whose answers are sums over all nodes of the cluster.
extension Node {
    /// Answers with the sums of all nodes' figures.
    func statsOfCluster(_ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        guard let cluster, let service else { return .json(200, stats) }
        waiting[id] = pending
        let (hub, loop, own, failure) = (hub, index, stats, silence(pending))
        cluster.ask(.stats) { result in
            let sum = result.isComplete ? service.sum(ofStats: [own] + result.answers) : nil
            hub.post(.response(sum.map { .json(200, $0) } ?? failure, to: id), to: loop)
        }
        return nil
    }

    /// Answers with a page of all nodes' connections.
    func connectionsOfCluster(
        _ filter: Hub.ConnectionFilter, before: ConnectionCursor?, limit: Int, _ pending: PendingRequest, _ id: RequestID
    ) -> HTTPResponse? {
        guard let cluster else { return nil }
        let (hub, loop, metrics, silence, full) = (hub, index, metrics, silence(pending), Self.listsFull(pending))
        let format = pending.errorFormat
        let respond = { @Sendable (response: HTTPResponse) in hub.post(.response(response, to: id), to: loop) }
        let list = { @Sendable (position: Hub.ConnectionPosition?) in
            let isQueued = cluster.page(ConnectionSearch(filter, after: position, limit: limit)) { page in
                respond(page.map { .connections($0) } ?? silence)
            }
            guard !isQueued else { return }
            metrics.countLimited(.channelQueriesQueue)
            respond(full)
        }
        switch before {
        case nil: list(nil)
        case .positionInCluster(let position)?: list(position)
        case .position?:
            return pending.error(400, "Expected before to be the next of a page of all nodes")
        case .socket(let socket)?:
            cluster.find(socket) { position, isCertain in
                if let position { return list(position) }
                respond(isCertain ? APIError.closed.response(format) : silence)
            }
        }
        waiting[id] = pending
        return nil
    }

    /// The response if too many lists wait.
    private static func listsFull(_ pending: PendingRequest) -> HTTPResponse {
        pending.error(
            503, "Overloaded: too many lists wait, try again", headers: ["Retry-After": "1"])
    }

    /// The response if a node does not answer.
    private func silence(_ pending: PendingRequest) -> HTTPResponse {
        pending.error(
            503, "A node of the cluster does not answer: try again", headers: ["Retry-After": "1"])
    }

    private static let incomplete = HTTPResponse.text(
        503, "A node of the cluster does not answer: try again", headers: ["Retry-After": "1"])

    /// Answers a publish with the attributes of its channels. The events have been published.
    func sum(
        _ publish: PublishRequest, app: AppIndex, _ cluster: ClusterService, _ pending: PendingRequest, _ id: RequestID
    ) -> HTTPResponse? {
        waiting[id] = pending
        let (hub, loop) = (hub, index)
        let channels = publish.events.map { $0.publications.map(\.channel) }
        cluster.sum(channels.flatMap { $0 }, app: app) { sums in
            let occupancies = channels.map { names in names.map { sums?.occupancy(of: $0) } }
            let response = sums == nil ? Self.incomplete : publish.response(occupancies: occupancies)
            hub.post(.response(response, to: id), to: loop)
        }
        return nil
    }

    /// Answers a query of Pusher's HTTP API.
    func sum(_ query: ChannelQuery, app: AppIndex, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        guard let cluster else { return nil }
        waiting[id] = pending
        let (hub, loop) = (hub, index)
        let answer = { @Sendable (result: ChannelQueryResult?) in
            hub.post(.response(result?.response ?? Self.incomplete, to: id), to: loop)
        }
        switch query {
        case .channels(let prefix, let attributes):
            cluster.sum(nil, prefix: prefix, app: app) { answer($0.map { .channels($0.channels, attributes) }) }
        case .channel(let name, let attributes):
            let sum = { @Sendable (copy: CachedCopy?) in
                let cached = copy.map { (frame: $0.frame, secondsLeft: Int(($0.millisecondsLeft + 999) / 1000)) }
                cluster.sum([name], app: app) { answer($0.map { .channel(name, $0.occupancy(of: name), cached, attributes) }) }
            }
            if attributes.contains(.cache) { cluster.cachedEvent(on: name, app: app, sum) } else { sum(nil) }
        case .users(let name): cluster.sum([name], app: app) { answer($0.map { .users($0.users(of: name)) }) }
        }
        return nil
    }
}
