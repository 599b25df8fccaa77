import FanOut
import PusherProtocol
import TestSupport
import Testing

@testable import Access
@testable import Fleet

/// Guaranteed delivery on one loop, whose hub and store are the tests.
@Suite struct OwnerReplayTests {
    private typealias Effect = OwnerReplay.Effect

    private static let key = ReceiptKey(channel: "driver-1", owner: "driver:1", device: "d")
    /// The slot of `driver-1` in the hub.
    private static let slot: ChannelSlot = 7

    private var replay = OwnerReplay(loop: 3, pageMax: 2)
    private var fanOut = LoopFanOut()
    private var random = SplitMix(seed: 1)
    private let socket: SocketID
    private let grant: SubscriptionGrant

    init() throws {
        socket = try Self.socket(at: 0)
        grant = try Self.grant(to: socket)
        fanOut.open(socket)
    }

    private static func socket(at slot: Int) throws -> SocketID { try #require(SocketID("\(slot + 1).\(slot)")) }

    private static func grant(to socket: SocketID) throws -> SubscriptionGrant {
        try SubscriptionRequest(channel: key.channel, auth: nil, channelData: nil)
            .grant(to: socket, key: "k", limits: Limits()) { _, _ in false }
    }

    private mutating func effects(_ change: (inout OwnerReplay, inout [Effect]) -> Void) -> [Effect] {
        var effects: [Effect] = []
        change(&replay, &effects)
        return effects
    }

    private mutating func subscribe(_ socket: SocketID, _ grant: SubscriptionGrant) -> [Effect] {
        let ownership = FleetAccess.Ownership(channel: Self.key.channel, owner: Self.key.owner, device: Self.key.device)
        return effects { $0.subscribe(socket, grant, as: ownership, &$1) }
    }

    private mutating func deliver(_ instruction: Instruction) -> [Effect] {
        var effects: [Effect] = []
        replay.deliver(instruction, to: &fanOut, &effects)
        return effects
    }

    private func findCursor(_ request: Int) -> Effect {
        .findCursor(CursorRequest(key: Self.key, replyTo: ReplyAddress(loop: 3, request: request)))
    }

    private func readPage(_ request: Int, after: Int64, isFirst: Bool = true) -> Effect {
        let address = ReplyAddress(loop: 3, request: request)
        return .readPage(
            ReplayRequest(key: Self.key, after: after, limit: 2, isFirst: isFirst, replyTo: address), for: socket)
    }

    private func event(_ sequence: Int64) -> Frame {
        ServerMessage.event("E", grant.channel, data: Array("\(sequence)".utf8))
    }

    private static func page(_ sequences: Int64..., isComplete: Bool = true, gap: ReplayGap? = nil) -> ReplayPage {
        let notifications = sequences.map { sequence in
            ReplayedNotification(
                sequence: sequence,
                notification: Notification(
                    id: "n\(sequence)", channel: key.channel, event: "E", data: Array("\(sequence)".utf8), createdAt: 0,
                    expiresAt: .max, collapseKey: ""))
        }
        return ReplayPage(
            notifications: notifications, upTo: sequences.last ?? gap?.upTo ?? 10, isComplete: isComplete, gap: gap)
    }

    /// What the socket gets now.
    private mutating func written() -> [Frame] {
        var written: [Frame] = []
        _ = fanOut.flush(writesMax: 100) { _, frame in written.append(frame) }
        return written.map { replay.marked($0, to: socket, now: 100, using: &random) }
    }

    /// Subscribes; the cursor is 10. The first page is number 2.
    private mutating func open() {
        #expect(subscribe(socket, grant) == [findCursor(1)])
        #expect(effects { $0.answered(1, cursor: 10, &$1) } == [.open(socket, grant)])
        #expect(deliver(.join(Self.slot, socket)) == [readPage(2, after: 10)])
        replay.opened()
    }

    /// Subscribes, and replays everything.
    private mutating func openLive() {
        open()
        #expect(effects { $0.answered(2, page: Self.page(), &$1) } == [.count(notifications: 0, gaps: 0)])
    }

    /// A notification is written.
    /// - Returns: the payload of its ping.
    private mutating func writeLive(_ sequence: Int64) throws -> [UInt8] {
        _ = deliver(.notify(event(sequence), Self.slot, sequence: sequence))
        let bytes = try #require(written().first).bytes
        #expect(bytes.starts(with: event(sequence).bytes) && bytes[bytes.count - 18] == 0x89, "a ping stands behind it")
        return Array(bytes.suffix(16))
    }

    private mutating func confirm(_ payload: [UInt8]) {
        payload.withUnsafeBytes { replay.confirm(socket, $0, now: 200) }
    }

    private func confirmed(_ sequence: Int64) -> Receipt {
        Receipt(key: Self.key, after: sequence - 1, upTo: sequence, writtenAt: 100, confirmedAt: 200)
    }

    /// The requests that are repeated after a tick.
    private mutating func repeated() -> [Effect] {
        replay.ticked(now: 0)
        var repeated: [Effect] = []
        while replay.hasRequestsToRepeat { repeated += effects { $0.repeatRequest(&$1) } }
        return repeated
    }

    // MARK: Subscribing

    @Test mutating func deniedSubscriptionDoesNotReplay() {
        _ = subscribe(socket, grant)
        #expect(effects { $0.answered(1, cursor: 10, &$1) } == [.open(socket, grant)])
        replay.opened()
        #expect(deliver(.join(8, socket)) == [], "another channel")
        #expect(repeated() == [])
    }

    @Test mutating func onlyTheOpenedConnectionReplays() throws {
        _ = subscribe(socket, grant)
        _ = effects { $0.answered(1, cursor: 10, &$1) }
        let other = try Self.socket(at: 1)
        fanOut.open(other)
        #expect(deliver(.join(Self.slot, other)) == [])
        #expect(deliver(.join(Self.slot, socket)) == [readPage(2, after: 10)])
    }

    @Test mutating func secondSubscriptionIsAnErrorWhileTheFirstWaits() {
        _ = subscribe(socket, grant)
        let error = ServerMessage.error(ProtocolError("Existing subscription to channel driver-1"))
        #expect(subscribe(socket, grant) == [.send(error, to: socket)])
    }

    @Test mutating func cancelledSubscriptionIsNotOpened() {
        _ = subscribe(socket, grant)
        let isCancelled = replay.cancel(socket, grant.channel)
        let isCancelledAgain = replay.cancel(socket, grant.channel)
        #expect(isCancelled && !isCancelledAgain)
        #expect(effects { $0.answered(1, cursor: 10, &$1) } == [])
        #expect(subscribe(socket, grant) == [findCursor(2)])
    }

    /// Otherwise the cursor would lie before what a pong has confirmed.
    @Test mutating func receiptsPrecedeTheRequestForACursor() throws {
        openLive()
        confirm(try writeLive(11))
        _ = deliver(.leave(Self.slot, socket))
        #expect(subscribe(socket, grant) == [.store([confirmed(11)]), findCursor(3)])
    }

    @Test mutating func closedConnectionIsNotOpened() {
        _ = subscribe(socket, grant)
        fanOut.close(socket)
        replay.closed(socket)
        #expect(effects { $0.answered(1, cursor: 10, &$1) } == [])
        #expect(repeated() == [])
    }

    // MARK: Replaying

    @Test mutating func liveNotificationWaitsForTheReplay() throws {
        open()
        #expect(deliver(.notify(event(13), Self.slot, sequence: 13)) == [])
        #expect(written() == [])
        let first = effects { $0.answered(2, page: Self.page(11, 12, isComplete: false), &$1) }
        #expect(
            first == [
                .count(notifications: 2, gaps: 0), .send(event(11), to: socket), .send(event(12), to: socket),
                readPage(2, after: 12, isFirst: false),
            ])
        let last = effects { $0.answered(2, page: Self.page(13), &$1) }
        #expect(last == [.count(notifications: 1, gaps: 0), .send(event(13), to: socket)])
        confirm(try writeLive(14))
        #expect(replay.receipts.map(\.after) == [10] && replay.receipts.map(\.upTo) == [14])
    }

    @Test mutating func gapPrecedesItsPageAndMovesTheCursor() throws {
        open()
        let gap = ReplayGap(count: 4, from: 0, to: 1_000, upTo: 14)
        let effects = effects { $0.answered(2, page: Self.page(15, gap: gap), &$1) }
        let data =
            #"{"channel":"driver-1","count":4,"from":"1970-01-01T00:00:00.000Z","to":"1970-01-01T00:00:01.000Z"}"#
        let announcement = ServerMessage.event("fleetwire:gap", grant.channel, data: Array(data.utf8))
        #expect(
            effects == [.count(notifications: 1, gaps: 1), .send(announcement, to: socket), .send(event(15), to: socket)])
        confirm(try writeLive(16))
        #expect(replay.receipts.map(\.after) == [14] && replay.receipts.map(\.upTo) == [16])
    }

    @Test mutating func pageOfAnEndedSubscriptionIsNotSent() {
        open()
        _ = deliver(.leave(Self.slot, socket))
        #expect(effects { $0.answered(2, page: Self.page(11), &$1) } == [])
    }

    // MARK: Confirming

    @Test mutating func othersWritesHaveNoPing() {
        _ = deliver(.join(Self.slot, socket))
        _ = deliver(.notify(event(11), Self.slot, sequence: 11))
        #expect(written() == [event(11)])
    }

    @Test mutating func receiptsWaitForAFullQueue() throws {
        openLive()
        confirm(try writeLive(11))
        #expect(effects { $0.storeReceipts(&$1) } == [.store([confirmed(11)])])
        let dropped = replay.receiptsPosted(areQueued: false)
        #expect(dropped == 0)
        confirm(try writeLive(12))
        #expect(effects { $0.storeReceipts(&$1) } == [.store([confirmed(11), confirmed(12)])])
        let droppedThen = replay.receiptsPosted(areQueued: true)
        #expect(droppedThen == 0)
        #expect(effects { $0.storeReceipts(&$1) } == [])
    }

    @Test mutating func oldestOfTooManyReceiptsAreDropped() throws {
        openLive()
        for sequence in Int64(11)..<Int64(11 + OwnerReplay.receiptsMax + 2) { confirm(try writeLive(sequence)) }
        let dropped = replay.receiptsPosted(areQueued: false)
        #expect(dropped == 2)
        #expect(replay.receipts.count == OwnerReplay.receiptsMax && replay.receipts.first == confirmed(13))
    }

    @Test mutating func unconfirmedIsReportedAfterItsTime() throws {
        openLive()
        _ = try writeLive(11)
        replay.ticked(now: 5_099)
        #expect(replay.receipts == [])
        replay.ticked(now: 5_100)
        #expect(replay.receipts == [Receipt(key: Self.key, after: 10, upTo: 11, writtenAt: 100, confirmedAt: nil)])
    }

    // MARK: Repeating

    @Test mutating func requestForACursorIsRepeatedIfTheQueueIsFull() {
        _ = subscribe(socket, grant)
        replay.failed(1)
        #expect(repeated() == [findCursor(1)])
        #expect(repeated() == [], "it is queued now")
        #expect(effects { $0.answered(1, cursor: nil, &$1) } == [], "the store could not be written")
        #expect(repeated() == [findCursor(1)])
    }

    @Test mutating func fullSocketDelaysThePage() {
        open()
        replay.failed(2)
        #expect(deliver(.notify(event(11), Self.slot, sequence: 11)) == [])
        #expect(written() == [])
        #expect(repeated() == [readPage(2, after: 10)])
        #expect(effects { $0.answered(2, page: nil, &$1) } == [], "the store could not be read")
        #expect(repeated() == [readPage(2, after: 10)])
    }

    @Test mutating func endedReplayIsNotRepeated() {
        open()
        replay.failed(2)
        _ = deliver(.leave(Self.slot, socket))
        #expect(repeated() == [])
        #expect(replay.replays.isEmpty)
    }

    /// The store does not take 20,000 requests.
    @Test mutating func repeatsEachRequestOnceOldestFirst() throws {
        let requests = Array(1...20_000)
        for slot in requests.indices {
            let socket = try Self.socket(at: slot)
            _ = subscribe(socket, try Self.grant(to: socket))
            replay.failed(slot + 1)
        }
        #expect(!replay.hasRequestsToRepeat)
        replay.ticked(now: 0)
        var repeated: [Effect] = []
        for _ in 0..<10_000 {
            repeated += effects { $0.repeatRequest(&$1) }
            replay.failed(repeated.count)
        }
        // The next tick comes while half of them are left: it adds none.
        repeated += self.repeated()
        #expect(repeated == requests.map(findCursor))
        // Those that were refused again come at the tick after it.
        #expect(self.repeated() == requests[..<10_000].map(findCursor))
    }
}
