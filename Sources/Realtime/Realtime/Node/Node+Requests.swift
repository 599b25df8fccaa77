import FanOut
import HTTP
import Observability
import PusherAPI
import Server
import Threads

/// HTTP requests: routes each when its head is complete, then responds at once, or passes the request to the thread that
/// can respond.
extension Node {
    package func decide(on request: HTTPRequest, _ id: RequestID) -> (decision: HeadDecision, endpoint: Int, actor: String?) {
        // What a page may send does not depend on the node's state; without it the page could not read the 503.
        let (routing, endpoint) =
            request.isPreflight || mayGoOn() ? route(request) : (.respond(Self.notAlive), router.pattern(of: request))
        let pending = PendingRequest(
            errorFormat: errorFormat(of: request), crossOriginHeaders: router.crossOriginHeaders(for: request))
        return (decide(routing, request, id, pending), endpoint.index, routing.actor)
    }

    package func endpoint(of request: HTTPRequest) -> Int { router.pattern(of: request).index }

    package func opensWebSocket(_ request: HTTPRequest) -> Bool { router.opensWebSocket(request) }

    private func decide(
        _ routing: Routing, _ request: HTTPRequest, _ id: RequestID, _ pending: PendingRequest
    ) -> HeadDecision {
        switch routing {
        case .respond(let response): return .respond(finish(response, pending, request))
        case .route(let route):
            var pending = pending
            if let limit = route.addressLimit {
                pending.client = loop?.clientAddress(of: request, id)?.subscriber
                if let refusal = refuseAddress(of: pending, limit) { return .respond(finish(refusal, pending, request)) }
            }
            return readBody(of: id, route, pending)
        case .needs(let fact):
            if let fullQueue = nodeExtension?.learn(fact, for: id) {
                return .respond(finish(rejectForFullQueue(fullQueue, pending), pending, request))
            }
            waiting[id] = pending
            waiting[id]?.deferred = DeferredRequest(request)
            return .wait
        }
    }

    package func respond(to request: HTTPRequest, _ id: RequestID) -> HTTPResponse? {
        guard var pending = waiting.removeValue(forKey: id), let route = pending.route else {
            preconditionFailure("a request is complete whose head was not routed")
        }
        pending.route = nil  // It has a copy of the head, which may be long.
        guard mayGoOn() else { return finish(Self.notAlive, pending, request) }
        guard let response = perform(route.action(request.body), pending, id) else { return nil }
        return finish(fitting(response, to: id, pending), pending, request)
    }

    package func abandoned(_ id: RequestID) {
        waiting[id] = nil
        nodeExtension?.abandoned(id)
    }

    package func errorResponse(_ status: Int, _ text: String, to request: HTTPRequest) -> HTTPResponse {
        var headers = router.crossOriginHeaders(for: request)
        if status == 503 { headers["Retry-After"] = "1" }
        return APIError(status, text, headers: headers).response(errorFormat(of: request))
    }

    private func errorFormat(of request: HTTPRequest) -> (any ErrorFormat)? {
        router.errorFormat(of: request)?.at(Clock.unixMilliseconds())
    }

    package func route(_ request: HTTPRequest) -> (routing: Routing, pattern: EndpointPattern) {
        router.route(head: request, now: Clock.unixMilliseconds() / 1000)
    }

    /// Counts a request of a client address.
    /// - Returns: the response if the address has made too many; otherwise nil.
    private func refuseAddress(of pending: PendingRequest, _ limit: AddressLimit) -> HTTPResponse? {
        guard let address = pending.client, let wait = nodeExtension?.secondsToWait(address, limit) else { return nil }
        return pending.error(429, "Too many requests", headers: ["Retry-After": String(wait)])
    }

    private func readBody(of id: RequestID, _ route: RoutedRequest, _ pending: PendingRequest) -> HeadDecision {
        var pending = pending
        pending.route = route
        pending.deferred = nil
        waiting[id] = pending
        return .readBody(bytesMax: route.readBodyBytesMax)
    }

    /// Reports a refusal, and adds the headers for web pages.
    private func finish(_ response: HTTPResponse, _ pending: PendingRequest, _ request: HTTPRequest) -> HTTPResponse {
        if pending.errorFormat != nil { nodeExtension?.refused(request, status: response.status) }
        return response.adding(pending.crossOriginHeaders)
    }

    /// Performs an action.
    /// - Returns: the response; nil if it comes from another thread.
    private func perform(_ action: APIAction, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        switch action {
        case .respond(let response): return response
        case .publish(let publish, let app):
            switch hub.publish(publish, app: app, &threadsToWake) {
            case .rejected: return rejectForFullQueue(.mailbox, pending)
            case .partitioned:
                metrics.countLimited(.clusterPartition)
                return .text(
                    503, "The other nodes cannot be reached: nothing was published, try again", headers: ["Retry-After": "1"])
            case .published(let occupancies):
                drainMailbox()
                guard let cluster, publish.requestsAttributes else { return publish.response(occupancies: occupancies) }
                return sum(publish, app: app, cluster, pending, id)
            }
        case .query(let query, let app) where hub.isClustered: return sum(query, app: app, pending, id)
        case .query(let query, let app) where query.isList: return look(up: .channels(query, app: app), pending, id)
        case .ops(.connections(let filter, let before, let limit, ofCluster: true)) where hub.isClustered:
            return connectionsOfCluster(filter, before: before, limit: limit, pending, id)
        case .ops(let query): return look(up: .ops(query, pending.errorFormat), pending, id)
        case .query(let query, let app): return query.lookUp(app: app) { hub.read($0) }.response
        case .terminate(let userIDs, let app):
            for userID in userIDs { apply(.terminate(userID: userID, app: app)) }
            return .emptyObject
        case .stats(let ofCluster): return ofCluster ? statsOfCluster(pending, id) : .json(200, stats)
        case .perform(let action):
            guard let nodeExtension else { preconditionFailure("an action of no extension: \(action)") }
            return nodeExtension.perform(action, pending, id)
        case .liveness:
            return readiness.isStalled ? .text(503, "a thread is stuck: see thread_stalled in the log") : .text(200, "ok")
        case .readiness:
            if cluster?.life.isOver == true { return Self.notAlive }
            if !readiness.isReady { return .text(503, "draining", headers: ["Retry-After": "5"]) }
            if let problem = nodeExtension?.problem { return .text(503, problem, headers: ["Retry-After": "5"]) }
            let isDegraded = cluster?.isUp == false
            return isDegraded ? .json(200, Array(#"{"status":"ready","degraded":["nats"]}"#.utf8)) : .text(200, "ready")
        case .metrics:
            return HTTPResponse(
                200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: registry.text.utf8)
        }
    }

    package func look(up query: ChannelQueryWorker.Query, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        guard channelQueries.post(query, for: id, on: index) else { return rejectForFullQueue(.channelQueries, pending) }
        waiting[id] = pending
        return nil
    }

    /// Whether a request waits for another thread.
    package func isWaiting(_ id: RequestID) -> Bool { waiting[id] != nil }

    /// Keeps a request until another thread responds.
    /// - Parameter secondsMax: after so many seconds it gets ``NodeExtension/unanswered(_:)``; nil: the thread always responds.
    package func wait(_ pending: PendingRequest, for id: RequestID, secondsMax: Int? = nil) {
        waiting[id] = pending
        waiting[id]?.waitsUntil = secondsMax.map { now + $0 }
    }

    /// Responds to the requests that have waited as long as they may. Call it once a second.
    func refuseUnansweredRequests() {
        for (id, request) in waiting where request.waitsUntil.map({ now > $0 }) == true { later(.refuse(id)) }
    }

    func refuseUnanswered(_ id: RequestID) {
        guard let pending = waiting[id], let response = nodeExtension?.unanswered(pending) else { return }
        respond(response, to: id)
    }

    /// Responds to a request that waits. If its connection has closed, the response is dropped.
    /// - Parameter makeResponse: gets the format of the path's errors.
    package func respond(to id: RequestID, with makeResponse: (any ErrorFormat) -> HTTPResponse) {
        guard let request = waiting.removeValue(forKey: id), let format = request.errorFormat else { return }
        respond(makeResponse(format.at(Clock.unixMilliseconds())), to: id, request)
    }

    /// Responds to a request that waits, unless its connection has closed.
    package func respond(_ response: HTTPResponse, to id: RequestID) {
        if let request = waiting.removeValue(forKey: id) { respond(response, to: id, request) }
    }

    private func respond(_ response: HTTPResponse, to id: RequestID, _ request: PendingRequest) {
        loop?.respond(fitting(response, to: id, request).adding(request.crossOriginHeaders), to: id)
    }

    /// The response; 503 instead of a list while clients have not taken what fills the memory for responses and events.
    private func fitting(_ response: HTTPResponse, to id: RequestID, _ pending: PendingRequest) -> HTTPResponse {
        guard loop?.hasRoom(for: response, to: id) == false else { return response }
        metrics.countLimited(.outgoingBytes)
        return pending.unavailable(
            "Overloaded: there is no memory for a list of \(response.body.count) bytes now, try again or ask for less")
    }

    /// Routes a request again that has waited.
    /// - Parameters:
    ///   - route: nil if the request cannot be routed.
    ///   - otherwise: the response then, or if the request would have to wait once more.
    package func retry(
        _ id: RequestID, route: (HTTPRequest) -> Routing?, otherwise refuse: (PendingRequest) -> HTTPResponse
    ) {
        guard let pending = waiting.removeValue(forKey: id), let deferred = pending.deferred else { return }
        let (decision, actor): (HeadDecision, String?) = deferred.withRequest { request in
            let routing = route(request)
            let decision: HeadDecision =
                switch routing {
                case .respond(let response): .respond(finish(response, pending, request))
                case .route(let route): readBody(of: id, route, pending)
                case .needs, nil: .respond(finish(refuse(pending), pending, request))
                }
            return (decision, routing?.actor)
        }
        loop?.resume(id, with: decision, actor: actor)
    }

    /// - Parameter command: the name of the command that was rejected, if it was one.
    package func rejectForFullQueue(_ queue: FullQueue, _ pending: PendingRequest, command: String? = nil) -> HTTPResponse {
        countRejection(queue, of: command)
        return pending.unavailable("Overloaded: nothing was done, try again")
    }
}

extension Routing {
    /// The sender, if the request has been routed.
    fileprivate var actor: String? { if case .route(let route) = self { route.actor } else { nil } }
}
