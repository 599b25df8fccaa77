import Access
import Addresses
import Cluster
import FanOut
import Fleet
import HTTP
import JWT
import Observability
import PusherAPI
import PusherProtocol
import Realtime
import Server
import Threads

/// Requests to the fleet's API: answers them from memory, or passes them to the thread that can respond.
extension FleetNode {
    func perform(_ action: any ExtensionAction, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        guard let action = action as? FleetAction else { preconditionFailure("an action of no fleet: \(action)") }
        switch action {
        case .command(let command): return forward(command, pending, id)
        case .query(let query, let sender, let command): return forward(query, by: sender, writing: command, pending, id)
        case .locate(let report, let driver):
            let receipt = fleet.trips.report(report.positions, ofDriver: driver.id)
            fleet.counters.trips.count(receipt)
            fleet.counters.trips.withoutOffset.add(report.withoutOffset)
            node.drainMailbox()
            return .json(200, FleetResponses.body(of: receipt))
        case .tripStatus(let reference, let identity): return tripStatus(reference, identity, pending, id)
        case .driverPositions:
            let trips = fleet.trips
            return node.look(up: .custom { .json(200, FleetResponses.body(of: trips.views())) }, pending, id)
        case .authorize(let authorization): return authorize(authorization, pending, id)
        case .authenticate(let user): return authenticate(user, pending, id)
        case .pushReport: return .json(200, PushStatusResponse(fleet.pushService.statuses).json)
        }
    }

    /// Answers how a trip stands: from memory if it is followed, otherwise from the store.
    private func tripStatus(
        _ reference: String, _ identity: Identity, _ pending: PendingRequest, _ id: RequestID
    ) -> HTTPResponse? {
        guard let view = fleet.trips.view(reference: reference) else {
            return forward(.trip(reference: reference, of: identity), by: .person(identity), pending, id)
        }
        switch view.answer(to: identity) {
        case .success(let view): return .json(200, FleetResponses.body(of: .trip(view)))
        case .failure(let error): return APIError(error).response(pending.errorFormat)
        }
    }

    // MARK: The store

    /// When to retry a command that a stopping gateway refuses, in seconds: another one, or this one, may serve by then.
    private static let restartSeconds = 5

    /// Posts a command to the store's writer; responds with 503 if there is no room.
    private func forward(_ command: IssuedCommand, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        // A committed command's events are published even to full mailboxes, so check for room before the store gets
        // the command.
        guard node.hub.hasRoom else { return node.rejectForFullQueue(.mailbox, pending, command: command.command.name) }
        var command = command
        command.client = pending.client?.description
        switch fleet.post(CommandRequest(command, replyTo: ReplyAddress(loop: index, request: id.rawValue))) {
        case .queued: node.wait(pending, for: id, secondsMax: CommandRequest.secondsMax)
        case .queueFull: return node.rejectForFullQueue(.storeWriter, pending, command: command.command.name)
        case .subjectFull: return rejectForWaiting("commands", .fleetCommandsWaiting, pending)
        case nil:
            return pending.unavailable(
                "The gateway is stopping: nothing was done, try again", retryAfterSeconds: Self.restartSeconds)
        }
        return nil
    }

    /// Posts a query to the store's readers; responds with 503 if there is no room.
    private func forward(
        _ query: Query, by sender: Sender, writing command: IssuedCommand? = nil, _ pending: PendingRequest, _ id: RequestID
    ) -> HTTPResponse? {
        let address = ReplyAddress(loop: index, request: id.rawValue)
        switch fleet.post(QueryRequest(query, by: sender, replyTo: address)) {
        case .queued:
            node.wait(pending, for: id, secondsMax: CommandRequest.secondsMax)
            writings[id] = command
        case .queueFull: return node.rejectForFullQueue(.storeReader, pending)
        case .subjectFull: return rejectForWaiting("queries", .fleetQueriesWaiting, pending)
        }
        return nil
    }

    /// Responds to a query, or posts the request once more, as the command that its answer needs.
    func respond(to id: RequestID, with reply: QueryReply) {
        let command = writings.removeValue(forKey: id)
        guard case .mustWrite = reply else { return node.respond(to: id) { reply.response(in: $0) } }
        guard let pending = node.waiting[id] else { return }
        guard let command else { preconditionFailure("a query needs a write without a command") }
        if let response = forward(command, pending, id) { node.respond(response, to: id) }
    }

    /// The store's disk hangs, or its server is silent. It may still execute the command.
    func unanswered(_ request: PendingRequest) -> HTTPResponse {
        node.metrics.countLimited(.storeSeconds)
        return request.unavailable(
            "The store does not answer: send the request again, with the same Idempotency-Key if it changes something",
            retryAfterSeconds: 5)
    }

    private func rejectForWaiting(_ requests: String, _ limit: Limit, _ pending: PendingRequest) -> HTTPResponse {
        node.metrics.countLimited(limit)
        return pending.error(
            429, "Too many \(requests) of yours wait: nothing was done, try again", summary: "Too many requests",
            headers: ["Retry-After": "1"])
    }

    func countRejection(ofCommand name: String) { fleet.counters.countAction(name, outcome: "unavailable") }

    // MARK: Tokens

    func learn(_ fact: any MissingFact, for id: RequestID) -> FullQueue? {
        switch fact as? TokenNeed {
        case .key(let key): fleet.fetch(key, for: id, on: index) ? nil : .tokenKeys
        case .answer(let token): fleet.ask(token, for: id, on: index)
        case nil: preconditionFailure("a fact of no fleet: \(fact)")
        }
    }

    /// Routes a request again after its token issuer's keys were fetched, or could not be. If the token's key is still
    /// unknown, responds with 401 only if a fetch has shown that the issuer does not have it, because apps treat a 401 as a
    /// logout.
    /// - Parameter retryAfterSeconds: nil after such a fetch; otherwise when the next one is permitted.
    func retry(_ id: RequestID, retryAfterSeconds: Int?) {
        node.retry(
            id, route: { node.route($0).routing },
            otherwise: { pending in
                guard let retryAfterSeconds else {
                    return APIError.unauthorized("Unknown key id (kid) for this issuer").response(pending.errorFormat)
                }
                return pending.unavailable(
                    "The token's key is not known yet: try again", retryAfterSeconds: retryAfterSeconds)
            })
    }

    /// Routes a request again with the answer about its token, or responds with 503 if the backend did not answer: apps
    /// would treat a 401 as a logout.
    func retry(_ id: RequestID, with answer: AnsweredToken?) {
        node.retry(
            id, route: { request in answer.map { fleetRouter.with($0) { node.route(request).routing } } },
            otherwise: {
                $0.unavailable(
                    "The token cannot be checked now: try again", retryAfterSeconds: TokenIntrospection.retrySeconds)
            })
    }

    // MARK: Refusals

    func secondsToWait(_ address: IPAddress, _ limit: AddressLimit) -> Int? { fleet.secondsToWait(address, limit) }

    /// Logs a request to the fleet's API that was refused before it reached the store. Verifies its token once more to
    /// name the actor: that is simpler than to carry the identity along, and the number of lines is limited.
    func refused(_ request: HTTPRequest, status: Int) {
        guard [400, 401, 403].contains(status) else { return }
        fleet.refusedRequests.write {
            let actor = fleetRouter.identity(of: request, now: Clock.unixMilliseconds() / 1000)
            return [
                "method": .text(request.method.rawValue), "path": .text(pathInLog(request)), "status": .number(status),
                "actor": .optional(actor?.key), "correlation_id": .text(request.correlationID),
            ]
        }
    }

    /// The path, unless an app has put a card's number into it.
    private func pathInLog(_ request: HTTPRequest) -> String {
        guard case .mobile? = Envelope(rawPath: request.rawPath), CardNumbers.occur(inText: request.path) else {
            return request.path
        }
        return "(a card's number)"
    }
}
