import FanOut
import HTTP
import HTTPAPI
import Observability
import Server
import Store
import Threads

/// Requests: answered here, or handed to the thread that can answer them.
extension Node {
    /// What is to be remembered of a request that waits.
    struct PendingRequest {
        /// Nil outside the fleet's API.
        let envelope: Envelope?
        /// For the page that reads the answer.
        let crossOrigin: HTTPHeaders
        /// To be asked again, when it is its sender's keys that it waits for.
        var held: DeferredRequest?
    }

    func respond(to request: HTTPRequest, _ id: RequestID) -> HTTPResponse? {
        let response = perform(outcome(of: request), request, id)
        if log.writes(.debug) { countRequest(request, response) }
        guard let response else { return nil }
        count(response, router.envelope(of: request))
        return response.adding(router.crossOriginHeaders(for: request))
    }

    func errorResponse(_ status: Int, _ text: String, path: String) -> HTTPResponse {
        let envelope = Envelope(path: path)
        let response = envelope?.error(status, text) ?? .text(status, text)
        count(response, envelope)
        return response
    }

    private func count(_ response: HTTPResponse, _ envelope: Envelope?) {
        if response.status >= 400, envelope != nil { fleet.counters.countRefusedRequest(response.status) }
    }

    private func outcome(of request: HTTPRequest) -> APIAction {
        router.action(of: request, now: Clock.unixMilliseconds() / 1000)
    }

    /// Nil when the answer comes from another thread.
    private func perform(_ outcome: APIAction, _ request: HTTPRequest, _ exchange: RequestID) -> HTTPResponse? {
        switch outcome {
        case .respond(let response): return response
        case .publish(let order, let app):
            guard case .published(let occupancies) = shared.publish(order, app: app, from: index) else {
                return rejectForFullQueue()
            }
            drainMailbox()
            return order.response(occupancies: occupancies)
        case .query(let question, let app): return shared.read { question.lookUp(in: $0, app: app) }.response
        case .terminate(let userID, let app):
            apply(.terminate(userID: userID, app: app))
            return .emptyObject
        case .command, .fleetQuery, .needsKeys: return hold(outcome, request, exchange)
        case .authorize(let authorization): return authorize(authorization)
        case .stats:
            return .json(200, StatsResponse(board: metrics, hub: shared, fleet: fleet, apps: appIDs).json)
        case .pushReport: return .json(200, PushStatusResponse(fleet.pushService.statuses).json)
        case .readiness:
            return metrics.isReady ? .text(200, "ready") : .text(503, "draining", headers: ["Retry-After": "5"])
        case .metrics:
            let text = MetricFamily.text(
                metrics.families(hub: shared) + fleet.families(prefix: metrics.prefix) + webhooks.families(prefix: metrics.prefix)
            )
            return HTTPResponse(200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: text.utf8)
        }
    }

    /// Hands a request to the thread that can answer it, or says that too many wait there.
    private func hold(_ outcome: APIAction, _ request: HTTPRequest, _ exchange: RequestID) -> HTTPResponse? {
        let envelope = router.envelope(of: request)
        let address = ReplyAddress(loop: index, exchange: exchange.rawValue)
        var held: DeferredRequest?
        let full: FullQueue?
        switch outcome {
        // What is committed is told, come what may: so whether there is room is asked before.
        case .command where !shared.hasRoom: full = .mailbox
        case .command(let command): full = fleet.post(CommandRequest(command, sender: address)) ? nil : .storeWriter
        case .fleetQuery(let enquiry): full = fleet.post(QueryRequest(enquiry, sender: address)) ? nil : .storeReader
        case .needsKeys(let issuer):
            held = DeferredRequest(request)
            full = fleet.fetchKeys(of: issuer, for: exchange, on: index) ? nil : .tokenKeys
        default: preconditionFailure("only what other threads answer is held")
        }
        if let full {
            countRejection(full)
            return unavailable(envelope, "Overloaded: nothing was done, try again", retryAfterSeconds: 1)
        }
        waiting[exchange] = PendingRequest(envelope: envelope, crossOrigin: router.crossOriginHeaders(for: request), held: held)
        return nil
    }

    /// What the store says. Its sender may have gone: what was done stays done.
    func answer(_ exchange: RequestID, with answer: StoreAnswer) {
        guard let request = waiting.removeValue(forKey: exchange) else { return }
        respond(answer.response(in: request.envelope ?? .error), to: exchange, request)
    }

    private func respond(_ response: HTTPResponse, to exchange: RequestID, _ request: PendingRequest) {
        count(response, request.envelope)
        loop?.respond(response.adding(request.crossOrigin), to: exchange)
    }

    /// Asks a request again, now that its sender's keys are there. If they still are not, the token is a stranger's; but if
    /// there never were any, its issuer could not be reached, and no app should take that for its being logged out.
    func retry(_ exchange: RequestID) {
        guard let request = waiting.removeValue(forKey: exchange), let held = request.held else { return }
        let response = held.withRequest { request -> HTTPResponse? in
            let outcome = outcome(of: request)
            guard case .needsKeys(let issuer) = outcome else { return perform(outcome, request, exchange) }
            let envelope = router.envelope(of: request)
            guard !fleet.ring.isEmpty(issuer: issuer) else {
                return unavailable(envelope, "The keys of the token's issuer cannot be fetched: try again", retryAfterSeconds: 30)
            }
            return (envelope ?? .error).error(
                401, "The token's key is none of its issuer's", headers: ["WWW-Authenticate": "Bearer"])
        }
        if let response { respond(response, to: exchange, request) }
    }

    private func unavailable(_ envelope: Envelope?, _ text: String, retryAfterSeconds: Int) -> HTTPResponse {
        (envelope ?? .error).error(503, text, headers: ["Retry-After": String(retryAfterSeconds)])
    }

    /// The hub says whether he may, and remembers who he is: what he was signed for he may lose again.
    private func authorize(_ authorization: ChannelAuthorization) -> HTTPResponse {
        let mayJoin = shared.read { $0.mayJoin(authorization.identity, authorization.channel, app: authorization.app) }
        guard mayJoin else { return authorization.refused }
        if let socket = authorization.socket { apply(.identify(socket, authorization.identity)) }
        return authorization.granted
    }

    private func countRequest(_ request: HTTPRequest, _ response: HTTPResponse?) {
        log.debug(
            "request",
            [
                "method": .text(request.method.rawValue), "path": .text(request.path), "status": .number(response?.status ?? 0),
                "correlation_id": .text(request.correlationID),
            ])
    }

    private func rejectForFullQueue() -> HTTPResponse {
        countRejection(.mailbox)
        return .text(503, "Overloaded: nothing was published, try again", headers: ["Retry-After": "1"])
    }
}

/// The queues that can be full.
enum FullQueue: String {
    case mailbox = "a loop's mailbox"
    case storeWriter = "the store's queue of commands"
    case storeReader = "the store's queue of questions"
    case tokenKeys = "the queue for token keys"
}
