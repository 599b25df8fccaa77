import Access
import Addresses
import FanOut
import Fleet
import HTTP
import HTTPAPI
import JWT
import Observability
import Server
import Threads

/// HTTP requests: routes each when its head is complete, then responds at once, or passes the request to the thread that
/// can respond.
extension Node {
    /// What is kept of a request until its response.
    struct PendingRequest {
        /// The JSON format of the path's responses; nil for a path outside the fleet's API.
        let envelope: Envelope?
        let crossOriginHeaders: HTTPHeaders
        /// Nil while the request waits for its token issuer's keys, or for the answer about its token.
        var route: RoutedRequest?
        /// A copy of the head of a request that waits for these; nil for other requests.
        var deferred: DeferredRequest?
        /// Of a request without a token: the network whose requests are counted together (``IPAddress/subscriber``). Nil if
        /// the client is gone.
        var client: IPAddress?
        /// The same request as a command, if it is a query whose answer may need a write.
        var command: IssuedCommand?
        /// ``Node/now`` when the request was posted to the store; nil for other requests.
        var postedAt: Int?
    }

    func decide(on request: HTTPRequest, _ id: RequestID) -> (decision: HeadDecision, endpoint: Int, actor: String?) {
        // What a page may send does not depend on the node's state; without it the page could not read the 503.
        let (routing, endpoint) =
            request.isPreflight || mayGoOn() ? route(request) : (.respond(Self.notAlive), router.pattern(of: request))
        let pending = PendingRequest(
            envelope: router.envelope(of: request)?.at(Clock.unixMilliseconds()),
            crossOriginHeaders: router.crossOriginHeaders(for: request))
        return (decide(routing, request, id, pending), endpoint.index, routing.actor)
    }

    func endpoint(of request: HTTPRequest) -> Int { router.pattern(of: request).index }

    func opensWebSocket(_ request: HTTPRequest) -> Bool { router.opensWebSocket(request) }

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
        case .needsKey(let key):
            guard fleet.fetch(key, for: id, on: index) else {
                return .respond(finish(rejectForFullQueue(.tokenKeys, pending), pending, request))
            }
            waiting[id] = pending
            waiting[id]?.deferred = DeferredRequest(request)
            return .wait
        case .needsAnswer(let token):
            if let fullQueue = fleet.ask(token, for: id, on: index) {
                return .respond(finish(rejectForFullQueue(fullQueue, pending), pending, request))
            }
            waiting[id] = pending
            waiting[id]?.deferred = DeferredRequest(request)
            return .wait
        }
    }

    func respond(to request: HTTPRequest, _ id: RequestID) -> HTTPResponse? {
        guard var pending = waiting.removeValue(forKey: id), let route = pending.route else {
            preconditionFailure("a request is complete whose head was not routed")
        }
        pending.route = nil  // It has a copy of the head, which may be long.
        guard mayGoOn() else { return finish(Self.notAlive, pending, request) }
        guard let response = perform(router.action(of: route, request: request), pending, id) else { return nil }
        return finish(fitting(response, to: id, pending), pending, request)
    }

    func abandoned(_ id: RequestID) {
        waiting[id] = nil
        undecidedAuthorizations[id] = nil
    }

    func errorResponse(_ status: Int, _ text: String, to request: HTTPRequest) -> HTTPResponse {
        let envelope = router.envelope(of: request)?.at(Clock.unixMilliseconds())
        var headers = router.crossOriginHeaders(for: request)
        if status == 503 { headers["Retry-After"] = "1" }
        return envelope?.error(status, text, headers: headers) ?? .text(status, text, headers: headers)
    }

    private func route(_ request: HTTPRequest) -> (routing: Routing, pattern: EndpointPattern) {
        router.route(head: request, now: Clock.unixMilliseconds() / 1000)
    }

    /// Counts a request of a client address.
    /// - Returns: the response if the address has made too many; otherwise nil.
    private func refuseAddress(of pending: PendingRequest, _ limit: AddressLimit) -> HTTPResponse? {
        guard let address = pending.client, let wait = fleet.secondsToWait(address, limit) else { return nil }
        return (pending.envelope ?? .error).error(429, "Too many requests", headers: ["Retry-After": String(wait)])
    }

    private func readBody(of id: RequestID, _ route: RoutedRequest, _ pending: PendingRequest) -> HeadDecision {
        var pending = pending
        pending.route = route
        pending.deferred = nil
        waiting[id] = pending
        return .readBody(bytesMax: route.readBodyBytesMax)
    }

    /// Logs a refusal, and adds the headers for web pages.
    private func finish(_ response: HTTPResponse, _ pending: PendingRequest, _ request: HTTPRequest) -> HTTPResponse {
        if pending.envelope != nil { logRefusal(request, response.status) }
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
                guard let cluster = fleet.cluster, publish.requestsAttributes else {
                    return publish.response(occupancies: occupancies)
                }
                return sum(publish, app: app, cluster, pending, id)
            }
        case .query(let query, let app) where hub.isClustered: return sum(query, app: app, pending, id)
        case .query(let query, let app) where query.isList: return look(up: .channels(query, app: app), pending, id)
        case .ops(.connections(let filter, let before, let limit, ofCluster: true)) where hub.isClustered:
            return connectionsOfCluster(filter, before: before, limit: limit, pending, id)
        case .ops(let query): return look(up: .ops(query), pending, id)
        case .query(let query, let app): return query.lookUp(app: app) { hub.read($0) }.response
        case .terminate(let userIDs, let app):
            for userID in userIDs { apply(.terminate(userID: userID, app: app)) }
            return .emptyObject
        case .command, .fleetQuery: return forward(action, pending, id)
        case .locate(let report, let driver):
            let receipt = fleet.trips.report(report.positions, ofDriver: driver.id)
            fleet.counters.count(receipt)
            fleet.counters.countWithoutOffset(report.withoutOffset)
            drainMailbox()
            return .json(200, FleetResponses.body(of: receipt))
        case .tripStatus(let reference, let identity): return tripStatus(reference, identity, pending, id)
        case .driverPositions: return look(up: .positions(fleet.trips), pending, id)
        case .authorize(let authorization): return authorize(authorization, pending, id)
        case .authenticate(let user): return authenticate(user, pending, id)
        case .stats(let ofCluster): return ofCluster ? statsOfCluster(pending, id) : .json(200, stats)
        case .pushReport: return .json(200, PushStatusResponse(fleet.pushService.statuses).json)
        case .liveness:
            return readiness.isStalled ? .text(503, "a thread is stuck: see thread_stalled in the log") : .text(200, "ok")
        case .readiness:
            if fleet.cluster?.life.isOver == true { return Self.notAlive }
            if !readiness.isReady { return .text(503, "draining", headers: ["Retry-After": "5"]) }
            if let problem = fleet.storeProblem { return .text(503, problem, headers: ["Retry-After": "5"]) }
            return fleet.isDegraded ? .json(200, Array(#"{"status":"ready","degraded":["nats"]}"#.utf8)) : .text(200, "ready")
        case .metrics:
            let threads = fleet.queues + [("webhooks", webhooks.inbox.depth), ("channel-queries", channelQueries.depth)]
            let text = MetricFamily.text(
                metrics.families(hub: hub, threads: threads, patterns: router.patterns) + fleet.families(prefix: metrics.prefix)
                    + webhooks.families(prefix: metrics.prefix))
            return HTTPResponse(200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: text.utf8)
        }
    }

    private func look(up query: ChannelQueryWorker.Query, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        guard channelQueries.post(query, for: id, on: index) else { return rejectForFullQueue(.channelQueries, pending) }
        waiting[id] = pending
        return nil
    }

    /// Answers how a trip stands: from memory if it is followed, otherwise from the store.
    private func tripStatus(
        _ reference: String, _ identity: Identity, _ pending: PendingRequest, _ id: RequestID
    ) -> HTTPResponse? {
        guard let view = fleet.trips.view(reference: reference) else {
            return forward(.fleetQuery(.trip(reference: reference, of: identity), by: identity), pending, id)
        }
        switch view.answer(to: identity) {
        case .success(let view): return .json(200, FleetResponses.body(of: .trip(view)))
        case .failure(let error): return APIError(error).response(pending.envelope ?? .success)
        }
    }

    /// When to retry a command that a stopping gateway refuses, in seconds: another one, or this one, may serve by then.
    private static let restartSeconds = 5

    /// Posts a request to the thread that can respond; responds with 503 if that thread's queue is full.
    private func forward(_ action: APIAction, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        let address = ReplyAddress(loop: index, request: id.rawValue)
        var fullQueue: FullQueue?
        switch action {
        // A committed command's events are published even to full mailboxes, so check for room before the store gets
        // the command.
        case .command where !hub.hasRoom: fullQueue = .mailbox
        case .command(var command):
            command.client = pending.client?.description
            switch fleet.post(CommandRequest(command, replyTo: address)) {
            case .queued: break
            case .queueFull: fullQueue = .storeWriter
            case .subjectFull: return rejectForWaiting("commands", .fleetCommandsWaiting, pending)
            case nil:
                let text = "The gateway is stopping: nothing was done, try again"
                return unavailable(pending.envelope, text, retryAfterSeconds: Self.restartSeconds)
            }
        case .fleetQuery(let query, let identity, _):
            switch fleet.post(QueryRequest(query, by: identity, replyTo: address)) {
            case .queued: break
            case .queueFull: fullQueue = .storeReader
            case .subjectFull: return rejectForWaiting("queries", .fleetQueriesWaiting, pending)
            }
        default: preconditionFailure("Node.forward was called with an action that needs no other thread")
        }
        if let fullQueue { return rejectForFullQueue(fullQueue, pending, command: action.commandName) }
        waiting[id] = pending
        waiting[id]?.postedAt = now
        if case .fleetQuery(_, _, let command) = action { waiting[id]?.command = command }
        return nil
    }

    /// Responds to a query, or posts the request once more, as the command that its answer needs.
    func respond(to id: RequestID, with reply: QueryReply) {
        guard case .mustWrite = reply else { return respond(to: id) { reply.response(in: $0) } }
        guard var pending = waiting.removeValue(forKey: id) else { return }
        guard let command = pending.command.take() else { preconditionFailure("a query needs a write without a command") }
        if let response = forward(.command(command), pending, id) { respond(response, to: id, pending) }
    }

    /// Responds with 503 to the requests that the store has not answered in time: its disk hangs, or its server is silent.
    /// The store may still execute them. Call it once a second.
    func refuseUnansweredRequests() {
        let overdue = waiting.filter { _, request in request.postedAt.map { now - $0 > CommandRequest.secondsMax } ?? false }
        for id in overdue.keys { later(.refuse(id)) }
    }

    func refuseUnanswered(_ id: RequestID) {
        guard waiting[id] != nil else { return }
        metrics.countLimited(.storeSeconds)
        respond(to: id) { envelope in
            envelope.error(
                503,
                "The store does not answer: send the request again, with the same Idempotency-Key if it changes something",
                headers: ["Retry-After": "5"])
        }
    }

    /// Responds to a forwarded request. If the request's connection has closed, the response is dropped, and a
    /// committed command stays committed.
    func respond(to id: RequestID, with makeResponse: (Envelope) -> HTTPResponse) {
        guard let request = waiting.removeValue(forKey: id) else { return }
        respond(makeResponse((request.envelope ?? .error).at(Clock.unixMilliseconds())), to: id, request)
    }

    /// Responds to a request of Pusher's HTTP API, unless its connection has closed.
    func respond(_ response: HTTPResponse, to id: RequestID) {
        if let request = waiting.removeValue(forKey: id) { respond(response, to: id, request) }
    }

    private func respond(_ response: HTTPResponse, to id: RequestID, _ request: PendingRequest) {
        loop?.respond(fitting(response, to: id, request).adding(request.crossOriginHeaders), to: id)
    }

    /// The response; 503 instead of a list while clients have not taken what fills the memory for responses and events.
    private func fitting(_ response: HTTPResponse, to id: RequestID, _ pending: PendingRequest) -> HTTPResponse {
        guard loop?.hasRoom(for: response, to: id) == false else { return response }
        metrics.countLimited(.outgoingBytes)
        let text = "Overloaded: there is no memory for a list of \(response.body.count) bytes now, try again or ask for less"
        guard pending.envelope == nil else { return unavailable(pending.envelope, text, retryAfterSeconds: 1) }
        return .text(503, text, headers: ["Retry-After": "1"])
    }

    /// Routes a request again after its token issuer's keys were fetched, or could not be. If the token's key is still
    /// unknown, responds with 401 only if a fetch has shown that the issuer does not have it, because apps treat a 401 as a
    /// logout.
    /// - Parameter retryAfterSeconds: nil after such a fetch; otherwise when the next one is permitted.
    func retry(_ id: RequestID, retryAfterSeconds: Int?) {
        retry(
            id, route: { route($0).routing },
            otherwise: { pending in
                guard let retryAfterSeconds else {
                    return APIError.unauthorized("Unknown key id (kid) for this issuer").response(pending.envelope ?? .error)
                }
                return unavailable(
                    pending.envelope, "The token's key is not known yet: try again", retryAfterSeconds: retryAfterSeconds)
            })
    }

    /// Routes a request again with the answer about its token, or responds with 503 if the backend did not answer: apps
    /// would treat a 401 as a logout.
    func retry(_ id: RequestID, with answer: AnsweredToken?) {
        retry(
            id,
            route: { request in
                guard let answer else { return nil }
                return router.route(head: request, now: Clock.unixMilliseconds() / 1000, with: answer).routing
            },
            otherwise: { pending in
                unavailable(
                    pending.envelope, "The token cannot be checked now: try again",
                    retryAfterSeconds: TokenIntrospection.retrySeconds)
            })
    }

    /// Routes a request again that has waited.
    /// - Parameters:
    ///   - route: nil if the request cannot be routed.
    ///   - otherwise: the response then, or if the request would have to wait once more.
    private func retry(
        _ id: RequestID, route: (HTTPRequest) -> Routing?, otherwise refuse: (PendingRequest) -> HTTPResponse
    ) {
        guard let pending = waiting.removeValue(forKey: id), let deferred = pending.deferred else { return }
        let (decision, actor): (HeadDecision, String?) = deferred.withRequest { request in
            let routing = route(request)
            let decision: HeadDecision =
                switch routing {
                case .respond(let response): .respond(finish(response, pending, request))
                case .route(let route): readBody(of: id, route, pending)
                case .needsKey, .needsAnswer, nil: .respond(finish(refuse(pending), pending, request))
                }
            return (decision, routing?.actor)
        }
        loop?.resume(id, with: decision, actor: actor)
    }

    private func unavailable(_ envelope: Envelope?, _ text: String, retryAfterSeconds: Int) -> HTTPResponse {
        (envelope ?? .error).error(503, text, headers: ["Retry-After": String(retryAfterSeconds)])
    }

    /// Logs a request to the fleet's API that was refused before it reached the store. Verifies its token once more to
    /// name the actor: that is simpler than to carry the identity along, and the number of lines is limited.
    private func logRefusal(_ request: HTTPRequest, _ status: Int) {
        guard [400, 401, 403].contains(status) else { return }
        fleet.refusedRequests.write {
            let actor = router.identity(of: request, now: Clock.unixMilliseconds() / 1000)
            return [
                "method": .text(request.method.rawValue), "path": .text(pathInLog(request)), "status": .number(status),
                "actor": .optional(actor?.key), "correlation_id": .text(request.correlationID),
            ]
        }
    }

    /// The path, unless an app has put a card's number into it.
    private func pathInLog(_ request: HTTPRequest) -> String {
        guard case .mobile? = router.envelope(of: request), CardNumbers.occur(inText: request.path) else {
            return request.path
        }
        return "(a card's number)"
    }

    private func rejectForWaiting(_ requests: String, _ limit: Limit, _ pending: PendingRequest) -> HTTPResponse {
        metrics.countLimited(limit)
        let text = "Too many \(requests) of yours wait: nothing was done, try again"
        return (pending.envelope ?? .error).error(
            429, text, summary: "Too many requests", headers: ["Retry-After": "1"])
    }

    private func rejectForFullQueue(
        _ queue: FullQueue, _ pending: PendingRequest, command: String? = nil
    ) -> HTTPResponse {
        countRejection(queue, of: command)
        let text = "Overloaded: nothing was done, try again"
        guard pending.envelope == nil else { return unavailable(pending.envelope, text, retryAfterSeconds: 1) }
        return .text(503, text, headers: ["Retry-After": "1"])
    }
}

extension APIAction {
    /// The name of a command in metrics; nil for any other action.
    fileprivate var commandName: String? { if case .command(let command) = self { command.command.name } else { nil } }
}

extension Routing {
    /// The sender, if the request has been routed.
    fileprivate var actor: String? { if case .route(let route) = self { route.actor?.key } else { nil } }
}
