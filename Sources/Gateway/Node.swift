import FanOut
import HTTPAPI
import Observability
import PusherProtocol
import Server
import Threads

/// What one loop's thread owns, and the only place where effects become actions.
///
/// It is built inside that thread and is not Sendable: others reach it through its mailbox.
final class Node: SocketOwner {
    /// Seconds of silence after which a client is to ping (PROTOCOL C4): the hosted service's.
    private static let activityTimeoutSeconds = 120

    private let index: Int
    private let shared: SharedHub
    private let board: Board
    private let apps: [Application]
    private let appsByKey: [String: Application]
    private let router: Router
    private let log: Log

    private var loop: EventLoop?
    private var fanOut = LoopFanOut()
    /// The application of each admitted connection, by slot.
    private var appsBySlot: [Application?] = []
    private var mail: [Mail] = []
    private var nextLoop = 0

    init(index: Int, blueprint: Blueprint) {
        self.index = index
        shared = blueprint.hub
        board = blueprint.board
        log = blueprint.log
        apps = blueprint.makeApplications()
        appsByKey = Dictionary(uniqueKeysWithValues: apps.map { ($0.key, $0) })
        router = Router(apps: apps, metricsToken: blueprint.settings.metrics.token)
        loop = EventLoop(
            index: index, owner: self, wakeup: blueprint.wakeups[index], budget: blueprint.budget,
            requestBodyBytesMax: blueprint.requestBodyBytesMax)
    }

    /// Serves until told to stop. Loop 0 brings the listener.
    func run(listeningOn listener: Listener?) {
        guard let loop else { return }
        if let listener { loop.listen(on: listener) }
        loop.run()
        loop.shutDown()
        publishTally()
    }

    // MARK: SocketOwner

    func opened(_ socket: SocketID, _ request: UpgradeRequest) -> Admission {
        switch Handshake(path: request.path, query: { name in request.query.first { $0.name == name }?.value }) {
        case .refused(let code, let reason, let version): return refusal(code, reason, version)
        case .app(let key, let version):
            guard let app = appsByKey[key] else {
                return refusal(.unknownApp, "App key \(key.clipped) does not exist", version)
            }
            guard app.isEnabled else { return refusal(.disabledApp, "Application is disabled", version) }
            admit(socket, to: app)
            return .admitted(messageBytesMax: app.limits.messageBytes, outboxBytesMax: app.limits.outboxBytes)
        }
    }

    func received(_ text: UnsafeRawBufferPointer, from socket: SocketID) {
        guard let app = appsBySlot[socket.slot] else { return }
        let reaction = Reaction(to: text, from: socket, key: app.key, limits: app.limits) { text, signature in
            app.signer.verifies(signature, of: text)
        }
        switch reaction {
        case .answer(let frame): perform(.send(frame, to: socket))
        case .input(let input): apply(input)
        case .nothing: break
        }
    }

    func closed(_ socket: SocketID) {
        apply(.closed(socket))
        fanOut.close(socket)
        appsBySlot[socket.slot] = nil
        board.counters[index].connections.add(-1)
        board.counters[index].closed.add()
    }

    func answer(_ request: HTTPRequest) -> HTTPResponse {
        switch router.outcome(of: request, now: Clock.unixMilliseconds() / 1000) {
        case .answer(let response): return response
        case .publish(let publications, let app, let sender):
            guard shared.publish(publications, app: app, except: sender, from: index) else { return refusedForWantOfRoom() }
            drainMailbox()
            return .emptyObject
        case .readiness:
            return board.isReady ? .text(200, "ready") : .text(503, "draining", headers: ["Retry-After": "5"])
        case .metrics:
            publishTally()
            let text = MetricFamily.text(board.families(hub: shared))
            return HTTPResponse(200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: text.utf8)
        }
    }

    func accepted(_ connection: Listener.Accepted) {
        let target = nextLoop
        nextLoop = (nextLoop + 1) % shared.mailboxes.count
        if target == index {
            loop?.adopt(connection)
        } else {
            shared.post(.adopt(connection), to: target)
        }
    }

    func woken() { drainMailbox() }

    func turnEnded() {
        if fanOut.isPending { fanOut.flush { loop?.write($1, to: $0) } }
        publishTally()
    }

    // MARK: Inputs and instructions

    private func admit(_ socket: SocketID, to app: Application) {
        while appsBySlot.count <= socket.slot { appsBySlot.append(nil) }
        appsBySlot[socket.slot] = app
        fanOut.open(socket)
        apply(.opened(socket, app: app.index))
        let established = ServerMessage.connectionEstablished(socket, activityTimeoutSeconds: Self.activityTimeoutSeconds)
        perform(.send(established, to: socket))
        board.counters[index].connections.add()
        board.counters[index].opened.add()
    }

    private func refusal(_ code: CloseCode, _ reason: String, _ version: Int?) -> Admission {
        // C7: from version 6 on the close code alone carries the error.
        let needsEvent = version.map { $0 < 6 } ?? false
        let event = needsEvent ? ServerMessage.error(ProtocolError(reason, code: Int(code.rawValue))) : nil
        return .refused(code, reason: reason, saying: event)
    }

    /// The order rule: into the mailboxes under the lock, then one's own at once.
    private func apply(_ input: Hub.Input) {
        shared.apply(input, from: index)
        drainMailbox()
    }

    private func drainMailbox() {
        shared.mailboxes[index].drain(into: &mail)
        for message in mail {
            switch message {
            case .instruction(let instruction): perform(instruction)
            case .adopt(let connection): loop?.adopt(connection)
            case .drain(let seconds): loop?.drain(over: seconds)
            case .stop: loop?.stop()
            }
        }
        mail.removeAll(keepingCapacity: true)
    }

    private func perform(_ instruction: Instruction) {
        fanOut.apply(instruction) { loop?.write($1, to: $0) }
    }

    private func refusedForWantOfRoom() -> HTTPResponse {
        board.counters[index].refusedPublishes.add()
        log.warning("publish_refused", ["loop": .number(index), "reason": "a loop's mailbox is above its high-water mark"])
        return .text(503, "Overloaded: nothing was published, try again", headers: ["Retry-After": "1"])
    }

    // MARK: Counting

    private func publishTally() {
        guard let loop else { return }
        let tally = loop.tally
        loop.tally = Tally()
        board.counters[index].add(tally)
        if tally.slowConsumers > 0 {
            log.warning("slow_consumers_dropped", ["loop": .number(index), "count": .number(tally.slowConsumers)])
        }
        if tally.acceptPauses > 0 { log.warning("accepting_paused", ["reason": "no descriptors left"]) }
        for (code, count) in tally.closes { board.countCloses(code, count) }
    }
}
