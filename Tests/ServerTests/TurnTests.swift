import Addresses
import CLibev
import CTLS
import Glibc
import HTTP
import Observability
import PusherProtocol
import Testing

@testable import Server

/// An event loop with a clock of its own, in which each request takes as long as it says. Its clients are sockets of this
/// process.
private final class LoopFixture: EventLoopDelegate {
    private(set) var loop: EventLoop?
    private let wakeup = Wakeup()
    private let metrics = LoopMetrics()
    /// Nanoseconds.
    private var now: UInt64 = 1_000_000_000
    private var clients: [Int32] = []
    /// The paths of the requests in the order in which they were handled, without the cost.
    private(set) var handled: [String] = []
    /// Messages of other threads, each of which takes 50 µs.
    private(set) var messages = 0
    private(set) var performed = 0
    /// The limits that the loop has reported.
    private(set) var limits: [Limit] = []
    /// How many messages were performed before the last tick.
    private(set) var performedAtTick = 0
    /// The ticks so far: those of the test, and those of the loop's own clock.
    private(set) var ticks = 0

    init() throws {
        loop = try EventLoop(
            index: 0, delegate: self, wakeup: wakeup,
            budget: DescriptorBudget(connectionsMax: 1_000, loopCount: 1, webhookCount: 0),
            metrics: metrics, requestMetrics: RequestMetrics(),
            options: EventLoop.Options(
                bufferedBytesMax: 1 << 24, outboxBytesMax: 1 << 26, certificates: nil, proxies: .none,
                usesProxyProtocol: false,
                clientLimits: SharedAddressLimits(AddressLimits(connectionsMax: 0, handshakesPerSecond: 0)), headBytesMax: 16_384),
            clock: { [unowned self] in now })
        turn()  // what a loop does when it begins
    }

    func end() {
        loop?.shutDown()
        for client in clients { Glibc.close(client) }
    }

    /// - Returns: the number of the new client.
    func connect() throws -> Int {
        var sockets: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &sockets) == 0)
        let address = try #require(IPAddress("192.0.2.1"))
        loop?.adopt(Listener.AcceptedSocket(descriptor: sockets[0], address: address))
        clients.append(sockets[1])
        return clients.count - 1
    }

    /// Sends requests, each with its name and its cost in microseconds.
    func send(_ client: Int, _ requests: [(name: String, cost: Int)]) {
        let text = requests.map { "GET /\($0.name)/\($0.cost) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
        let count = Array(text.utf8).withUnsafeBytes { Glibc.send(clients[client], $0.baseAddress, $0.count, 0) }
        precondition(count == text.utf8.count, "the socket takes a test's requests")
    }

    /// Sends bytes, as many as the socket takes.
    /// - Returns: their number; -1 if the loop has closed the connection.
    func send(_ client: Int, bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes {
            Glibc.send(clients[client], $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
    }

    /// Lets seconds pass, with a few turns in each.
    func tick(_ seconds: Int32) {
        for _ in 0..<seconds {
            loop?.tick()
            for _ in 0..<3 { turn() }
        }
    }

    /// Reads up to so many bytes of what a client has got.
    /// - Returns: their number; 0 at the end of the connection.
    @discardableResult
    func read(_ client: Int, _ countMax: Int) -> Int {
        var bytes = [UInt8](repeating: 0, count: countMax)
        return recv(clients[client], &bytes, countMax, Int32(MSG_DONTWAIT))
    }

    var slowConsumers: Int { metrics[.slowConsumers] }

    /// - Returns: the names of the requests that the turn has handled, and its time in nanoseconds.
    @discardableResult
    func turn() -> (handled: [String], nanoseconds: UInt64) {
        let (count, start) = (handled.count, now)
        loop?.runOnce()
        return (Array(handled[count...]), now - start)
    }

    /// Another thread sends messages.
    func post(messages count: Int) {
        messages += count
        wakeup.signal()
    }

    var turns: Histogram { metrics.turns.histogram }

    // MARK: EventLoopDelegate

    func decide(on request: HTTPRequest, _ id: RequestID) -> (decision: HeadDecision, endpoint: Int, actor: String?) {
        let parts = request.path.split(separator: "/")
        handled.append(String(parts[0]))
        now += UInt64(parts[1])! * 1_000
        // A response that no socket takes at once.
        let text = parts[0] == "long" ? String(repeating: "x", count: 4 << 20) : "ok"
        return (.respond(.text(200, text)), 0, nil)
    }

    func opened(_ socket: SocketID, _ request: UpgradeRequest) -> Admission { .rejected(.unknownApp, reason: "", frame: nil) }
    func received(_ text: UnsafeRawBufferPointer, from socket: SocketID) {}
    func pingReceived(from socket: SocketID) {}
    func pongReceived(from socket: SocketID, _ payload: UnsafeRawBufferPointer) {}
    func closed(_ socket: SocketID) {}
    func closing(with code: CloseCode) {}
    func answered(_ request: AnsweredRequest) {}
    func endpoint(of request: HTTPRequest) -> Int { 0 }
    func respond(to request: HTTPRequest, _ id: RequestID) -> HTTPResponse? { nil }
    func abandoned(_ id: RequestID) {}
    func errorResponse(_ status: Int, _ text: String, to request: HTTPRequest) -> HTTPResponse { .text(status, text) }
    func opensWebSocket(_ request: HTTPRequest) -> Bool { true }
    func proxyHeaderRefused(by peer: IPAddress, _ reason: ProxyHeaderRefusal) {}
    func limitReached(_ limit: Limit) { limits.append(limit) }
    func accepted(_ connection: Listener.AcceptedSocket) {}
    func ticked() {
        performedAtTick = performed
        ticks += 1
    }
    func drained() {}
    func performMessages(until end: UInt64) -> Bool {
        while messages > 0 {
            messages -= 1
            performed += 1
            now += 50_000
            if now >= end { return messages == 0 }
        }
        return true
    }
    func performDeferred() {}
    func turnEnded(begunAt: UInt64) {}
}

/// The turns of a loop whose clients ask for more than a turn has time for. Serialized: a library context is not created
/// while another one serves.
@Suite(.serialized) struct TurnTests {
    private static let millisecond: UInt64 = 1_000_000

    /// 100,000 messages of other threads, five seconds of work: each turn ends, and what a client has sent comes after them.
    @Test func messagesOfOtherThreadsDoNotProlongTheTurn() throws {
        let fixture = try LoopFixture()
        defer { fixture.end() }
        let client = try fixture.connect()
        fixture.post(messages: 100_000)
        fixture.send(client, [("late", 1_000)])
        for _ in 0..<1_000 {
            let performed = fixture.performed
            #expect(fixture.handled.isEmpty)
            let (_, time) = fixture.turn()
            #expect(time <= 6 * Self.millisecond, "messages, and the request behind the last one")
            #expect(fixture.performed - performed == 100)
        }
        #expect(fixture.messages == 0)
        if fixture.handled.isEmpty { fixture.turn() }
        #expect(fixture.handled == ["late"])
    }

    @Test func messagesAreAllPerformedBeforeTheEnd() throws {
        let fixture = try LoopFixture()
        fixture.post(messages: 1_000)
        fixture.turn()
        #expect(fixture.messages > 0)
        fixture.end()
        #expect(fixture.messages == 0)
    }

    /// 40 connections, each with a request of 1 ms, are ready together.
    @Test func turnEndsAndTheRestFollowsInOrder() throws {
        let fixture = try LoopFixture()
        defer { fixture.end() }
        let clients = try (0..<40).map { _ in try fixture.connect() }
        for client in clients { fixture.send(client, [("early", 1_000)]) }
        let (first, time) = fixture.turn()
        // Those that are read at once, until the turn has no more time for them, and the first of those that wait.
        #expect(first.count == 6 && time == 6 * Self.millisecond)
        // Those that are ready later do not overtake the others, and each turn ends.
        let late = try fixture.connect()
        fixture.send(late, [("late", 1_000)])
        var turns: [Int] = []
        while fixture.handled.count < 41, turns.count < 100 {
            let (handled, time) = fixture.turn()
            #expect(time <= 5 * Self.millisecond)
            turns.append(handled.count)
        }
        #expect(fixture.handled == Array(repeating: "early", count: 40) + ["late"])
        #expect(turns.count <= 9, "\(turns)")
        #expect(fixture.turns.cumulative.first { $0.bound == 0.01 }?.count == fixture.turns.count)
    }

    /// However much others have sent, a client with one request waits for one turn.
    @Test func pipeliningClientsDoNotDelayOthers() throws {
        let fixture = try LoopFixture()
        defer { fixture.end() }
        let floods = try (0..<20).map { _ in try fixture.connect() }
        let bystander = try fixture.connect()
        for flood in floods { fixture.send(flood, Array(repeating: ("flood", 300), count: 50)) }
        fixture.turn()
        for _ in 0..<5 { fixture.turn() }
        for round in 0..<10 {
            fixture.send(bystander, [("bystander", 10)])
            let (handled, time) = fixture.turn()
            #expect(handled.first == "bystander", "round \(round): \(handled)")
            #expect(time <= 2 * Self.millisecond, "so that the next one does not wait long")
            #expect(handled.count > 1, "the floods go on")
        }
        while fixture.handled.count < 1_010 { fixture.turn() }
        #expect(fixture.handled.filter { $0 == "flood" }.count == 1_000)
    }

    /// The step that reaches the end is the last one: a turn is too long by one step at most for each kind of work.
    @Test func expensiveStepsMakeNoLongTurn() throws {
        let fixture = try LoopFixture()
        defer { fixture.end() }
        let clients = try (0..<60).map { _ in try fixture.connect() }
        for client in clients { fixture.send(client, [("costly", 4_000), ("costly", 4_000)]) }
        while fixture.handled.count < 120 { #expect(fixture.turn().nanoseconds <= 12 * Self.millisecond) }
    }

    @Test func aPipelinesRestKeepsItsOrder() throws {
        let fixture = try LoopFixture()
        defer { fixture.end() }
        let client = try fixture.connect()
        let names = (0..<200).map { "r\($0)" }
        fixture.send(client, names.map { ($0, 50) })
        var turns = 0
        while fixture.handled.count < 200, turns < 1_000 {
            fixture.turn()
            turns += 1
        }
        #expect(fixture.handled == names)
        #expect(turns > 5, "a lone client does not fill a turn, either")
    }

    // MARK: Responses

    /// A response that waits in the outbox has 60 seconds for its last byte, however many of its bytes are taken meanwhile.
    @Test(arguments: [0, 1_000]) func aResponseIsTakenIn60Seconds(bytesPerSecond: Int) throws {
        let fixture = try LoopFixture()
        defer { fixture.end() }
        let client = try fixture.connect()
        fixture.send(client, [("long", 1)])
        for _ in 0..<3 { fixture.turn() }
        let begin = fixture.ticks
        while fixture.slowConsumers == 0, fixture.ticks - begin < 100 {
            if bytesPerSecond > 0 { #expect(fixture.read(client, bytesPerSecond) == bytesPerSecond) }
            fixture.tick(1)
        }
        // The loop's own clock may tick before the test counts, and before it looks.
        let duration = Int(Deadlines.Kind.idle.duration)
        #expect((duration - 1...duration + 1).contains(fixture.ticks - begin))
        var last = 1
        while last > 0 { last = fixture.read(client, 1 << 20) }
        #expect(last == 0, "the connection has ended")
    }

    /// One that is taken in time leaves the connection open for the next request, as any other.
    @Test func aResponseThatIsTakenInTimeIsNoReasonToEnd() throws {
        let fixture = try LoopFixture()
        defer { fixture.end() }
        let client = try fixture.connect()
        fixture.send(client, [("long", 1)])
        for _ in 0..<3 { fixture.turn() }
        fixture.tick(50)
        var left = 4 << 20
        while left > 0, fixture.slowConsumers == 0 {
            left -= max(0, fixture.read(client, 1 << 20))
            fixture.turn()
        }
        fixture.tick(50)
        fixture.send(client, [("next", 1)])
        for _ in 0..<3 { fixture.turn() }
        #expect(fixture.handled == ["long", "next"] && fixture.slowConsumers == 0)
    }

    // MARK: Writing

    @Test func writingGetsAtLeastTheTimeThatTheTurnHasTaken() {
        let start: UInt64 = 1_000_000_000
        for (spent, slice) in [(0, 1), (1, 1), (3, 3), (20, 20)] as [(UInt64, UInt64)] {
            let now = start + spent * Self.millisecond
            #expect(TimeSlice(turnBegunAt: start, now: now).end == now + slice * Self.millisecond)
        }
    }

    // MARK: What follows a last response

    /// Each form in which a peer goes on behind a refusal: a request that cannot be read, and a WebSocket whose key is unknown.
    @Test(arguments: [
        "no HTTP\r\n\r\n",
        "GET /app/x HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ]) func aRefusedPeerSendsABoundedNumberOfBytes(refused: String) throws {
        for (total, isReset) in [(250_000, false), (400_000, true)] {
            let fixture = try LoopFixture()
            defer { fixture.end() }
            let client = try fixture.connect()
            #expect(fixture.send(client, bytes: Array(refused.utf8)) == refused.utf8.count)
            fixture.turn()
            fixture.turn()
            // An unfinished binary frame of a gigabyte, so that the bytes mean nothing to a WebSocket either.
            var rest: [UInt8] = [0x82, 0xFF, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0] + Array(repeating: 0, count: total)
            var turns = 0
            while !rest.isEmpty, turns < 1_000 {
                let count = fixture.send(client, bytes: Array(rest.prefix(16_384)))
                if count < 0, errno != EAGAIN { break }
                if count > 0 { rest.removeFirst(count) }
                fixture.turn()
                turns += 1
            }
            for _ in 0..<200 { fixture.turn() }
            #expect(fixture.limits == (isReset ? [.discardedBytes] : []), "\(total)")
            #expect(rest.isEmpty == !isReset || isReset, "what is within the limit is received")
            #expect((fixture.send(client, bytes: [0]) < 0) == isReset)
            if !isReset { #expect(fixture.read(client, 10_000) > 0, "the response arrives") }
        }
    }
}
