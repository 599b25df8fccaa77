import FanOut
import HTTP
import HTTPAPI
import Observability
import Server
import Store
import Threads

/// HTTP requests: responds at once, or passes the request to the thread that can respond.
extension Node {
    /// What the response to a request needs while the request waits for a reply from another thread.
    struct PendingRequest {
        /// The JSON format of the path's responses; nil for a path outside the fleet's API.
        let envelope: Envelope?
        let crossOriginHeaders: HTTPHeaders
        /// A copy of the request if it waits for its token issuer's keys and will be retried; nil for other requests.
        var deferred: DeferredRequest?
    }

    func respond(to request: HTTPRequest, _ id: RequestID) -> HTTPResponse? {
        let response = perform(action(of: request), request, id)
        if log.writes(.debug) { logRequest(request, response) }
        guard let response else { return nil }
        countFailure(response, router.envelope(of: request))
        return response.adding(router.crossOriginHeaders(for: request))
    }

    func errorResponse(_ status: Int, _ text: String, path: String) -> HTTPResponse {
        let envelope = Envelope(path: path)
        let response = envelope?.error(status, text) ?? .text(status, text)
        countFailure(response, envelope)
        return response
    }

    private func countFailure(_ response: HTTPResponse, _ envelope: Envelope?) {
        if response.status >= 400, envelope != nil { fleet.counters.countFailedRequest(response.status) }
    }

    private func action(of request: HTTPRequest) -> APIAction {
        router.action(of: request, now: Clock.unixMilliseconds() / 1000)
    }

    /// Performs an action.
    /// - Returns: the response; nil if it comes from another thread.
    private func perform(_ action: APIAction, _ request: HTTPRequest, _ id: RequestID) -> HTTPResponse? {
        switch action {
        case .respond(let response): return response
        case .publish(let publish, let app):
            guard case .published(let occupancies) = hub.publish(publish, app: app, from: index) else {
                return rejectForFullQueue()
            }
            drainMailbox()
            return publish.response(occupancies: occupancies)
        case .query(let query, let app): return query.lookUp(app: app) { hub.read($0) }.response
        case .terminate(let userID, let app):
            apply(.terminate(userID: userID, app: app))
            return .emptyObject
        case .command, .fleetQuery, .needsKeys: return forward(action, request, id)
        case .authorize(let authorization): return authorize(authorization)
        case .stats: return .json(200, StatsResponse(metrics: metrics, hub: hub, fleet: fleet, apps: appIDs).json)
        case .pushReport: return .json(200, PushStatusResponse(fleet.pushService.statuses).json)
        case .liveness:
            return readiness.isStalled ? .text(503, "a thread is stuck: see thread_stalled in the log") : .text(200, "ok")
        case .readiness:
            return readiness.isReady ? .text(200, "ready") : .text(503, "draining", headers: ["Retry-After": "5"])
        case .metrics:
            let text = MetricFamily.text(
                metrics.families(hub: hub) + fleet.families(prefix: metrics.prefix) + webhooks.families(prefix: metrics.prefix)
            )
            return HTTPResponse(200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: text.utf8)
        }
    }

    /// Posts a request to the thread that can respond; responds with 503 if that thread's queue is full.
    private func forward(_ action: APIAction, _ request: HTTPRequest, _ id: RequestID) -> HTTPResponse? {
        let envelope = router.envelope(of: request)
        let address = ReplyAddress(loop: index, request: id.rawValue)
        var deferred: DeferredRequest?
        let fullQueue: FullQueue?
        switch action {
        // A committed command's events are published even to full mailboxes, so check for room before the store gets
        // the command.
        case .command where !hub.hasRoom: fullQueue = .mailbox
        case .command(let command):
            fullQueue = fleet.post(CommandRequest(command, replyTo: address)) ? nil : .storeWriter
        case .fleetQuery(let query):
            fullQueue = fleet.post(QueryRequest(query, replyTo: address)) ? nil : .storeReader
        case .needsKeys(let issuer):
            deferred = DeferredRequest(request)
            fullQueue = fleet.fetchKeys(of: issuer, for: id, on: index) ? nil : .tokenKeys
        default: preconditionFailure("Node.forward was called with an action that needs no other thread")
        }
        if let fullQueue {
            countRejection(fullQueue)
            return unavailable(envelope, "Overloaded: nothing was done, try again", retryAfterSeconds: 1)
        }
        waiting[id] = PendingRequest(
            envelope: envelope, crossOriginHeaders: router.crossOriginHeaders(for: request), deferred: deferred)
        return nil
    }

    /// Responds to a forwarded request. If the request's connection has closed, the response is dropped, and a
    /// committed command stays committed.
    func respond(to id: RequestID, with makeResponse: (Envelope) -> HTTPResponse) {
        guard let request = waiting.removeValue(forKey: id) else { return }
        respond(makeResponse(request.envelope ?? .error), to: id, request)
    }

    private func respond(_ response: HTTPResponse, to id: RequestID, _ request: PendingRequest) {
        countFailure(response, request.envelope)
        loop?.respond(response.adding(request.crossOriginHeaders), to: id)
    }

    /// Retries a request after the fetch of its token issuer's keys. If the token's key is still unknown, responds with
    /// 401. But if no key of the issuer was ever fetched, the issuer is unreachable, and the response is 503, because
    /// apps treat a 401 as a logout.
    func retry(_ id: RequestID) {
        guard let pending = waiting.removeValue(forKey: id), let deferred = pending.deferred else { return }
        let response = deferred.withRequest { request -> HTTPResponse? in
            let action = action(of: request)
            guard case .needsKeys(let issuer) = action else { return perform(action, request, id) }
            let envelope = router.envelope(of: request)
            guard !fleet.keyCache.isEmpty(issuer: issuer) else {
                return unavailable(envelope, "The keys of the token's issuer cannot be fetched: try again", retryAfterSeconds: 30)
            }
            return (envelope ?? .error).error(
                401, "Unknown key id (kid) for this issuer", headers: ["WWW-Authenticate": "Bearer"])
        }
        if let response { respond(response, to: id, pending) }
    }

    private func unavailable(_ envelope: Envelope?, _ text: String, retryAfterSeconds: Int) -> HTTPResponse {
        (envelope ?? .error).error(503, text, headers: ["Retry-After": String(retryAfterSeconds)])
    }

    /// Signs a subscription if the hub permits it. The hub then stores the user's identity with the connection, so that
    /// it can end the subscription when the job goes to another driver.
    private func authorize(_ authorization: ChannelAuthorization) -> HTTPResponse {
        let mayJoin = hub.read { $0.mayJoin(authorization.identity, authorization.channel, app: authorization.app) }
        guard mayJoin else { return authorization.refused }
        if let socket = authorization.socket { apply(.identify(socket, authorization.identity)) }
        return authorization.granted
    }

    private func logRequest(_ request: HTTPRequest, _ response: HTTPResponse?) {
        log.debug(
            "request",
            [
                "method": .text(request.method.rawValue), "path": .text(request.path),
                "status": .number(response?.status ?? 0),  // 0: the response comes from another thread
                "correlation_id": .text(request.correlationID),
            ])
    }

    private func rejectForFullQueue() -> HTTPResponse {
        countRejection(.mailbox)
        return .text(503, "Overloaded: nothing was published, try again", headers: ["Retry-After": "1"])
    }
}

/// A queue that was full when a request or client event needed it. Raw values appear in the log.
enum FullQueue: String {
    case mailbox = "loop mailbox"
    case storeWriter = "store writer"
    case storeReader = "store reader"
    case tokenKeys = "token key fetcher"
}
