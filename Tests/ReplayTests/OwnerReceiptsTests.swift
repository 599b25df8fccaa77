import Fleet
import TestSupport
import Testing

private let own = ReceiptKey(channel: "driver-42", owner: "driver:42", device: "phone")
private let all = ReceiptKey(channel: "drivers-channel", owner: "driver:42", device: "phone")

@Suite struct OwnerReceiptsTests {
    private var table = OwnerReceipts()
    private var random = SplitMix(seed: 1)

    private mutating func ping(_ slot: Int = 0, at now: Int64 = 100) -> PingPayload {
        table.ping(slot, now: now, using: &random)
    }

    /// Subscribes a connection whose device has confirmed everything.
    private mutating func subscribe(
        _ slot: Int = 0, to key: ReceiptKey = own, as name: String? = nil, channel: Int = 7, at cursor: Int64 = 10
    ) {
        let name = name ?? key.channel
        #expect(table.subscribe(slot, to: key, as: name, channel: channel, replay: 1, cursor: cursor) == cursor)
        #expect(table.replayed(slot, channel, sequences: [], upTo: cursor, isLast: true) == nil)
    }

    private func receipt(
        _ after: Int64, _ upTo: Int64, of key: ReceiptKey = own, written: Int64 = 100, confirmed: Int64? = 200
    ) -> Receipt {
        Receipt(key: key, after: after, upTo: upTo, writtenAt: written, confirmedAt: confirmed)
    }

    @Test mutating func pongConfirmsWhatWasWrittenBeforeItsPing() {
        subscribe()
        #expect(!table.isOwed(0))
        #expect(table.notify(7, 11) == [])
        #expect(table.notify(7, 12) == [])
        #expect(table.isOwed(0))
        let payload = ping()
        #expect(!table.isOwed(0))
        #expect(table.notify(7, 13) == [])
        #expect(table.confirm(0, payload, now: 200) == [receipt(10, 12)])
        #expect(table.confirm(0, payload, now: 201) == [], "once")
    }

    @Test mutating func pongOfALaterPingConfirmsAll() {
        subscribe()
        subscribe(to: all, channel: 8, at: 50)
        _ = table.notify(7, 11)
        let first = ping(at: 100)
        _ = table.notify(8, 51)
        let second = ping(at: 101)
        #expect(
            table.confirm(0, second, now: 200) == [receipt(10, 11), receipt(50, 51, of: all, written: 101)])
        #expect(table.confirm(0, first, now: 201) == [])
    }

    @Test mutating func otherPayloadsConfirmNothing() {
        subscribe()
        subscribe(1)
        _ = table.notify(7, 11)
        let (mine, other) = (ping(0), ping(1))
        #expect(table.confirm(0, other, now: 200) == [], "another connection's")
        #expect(table.confirm(0, PingPayload(using: &random), now: 200) == [])
        #expect(table.confirm(5, mine, now: 200) == [], "a connection without state")
        #expect(table.confirm(0, mine, now: 200) == [receipt(10, 11)])
    }

    @Test mutating func liveNotificationsAreLeftOutWhileReplaying() {
        #expect(table.subscribe(0, to: own, as: "driver-42", channel: 7, replay: 1, cursor: 10) == 10)
        #expect(table.notify(7, 13) == [0])
        #expect(table.replayed(0, 7, sequences: [11, 12], upTo: 12, isLast: true) == 12, "13 was left out")
        #expect(table.replayed(0, 7, sequences: [13], upTo: 13, isLast: true) == nil)
        #expect(table.notify(7, 13) == [0], "the page contained it")
        #expect(table.notify(7, 14) == [])
        #expect(table.confirm(0, ping(), now: 200) == [receipt(10, 14)])
    }

    @Test mutating func pagesFollowUntilTheLast() {
        _ = table.subscribe(0, to: own, as: "driver-42", channel: 7, replay: 1, cursor: 0)
        #expect(table.replayed(0, 7, sequences: Array(1...100), upTo: 100, isLast: false) == 100)
        #expect(table.replayed(0, 7, sequences: Array(101...150), upTo: 150, isLast: true) == nil)
        #expect(table.replayed(0, 7, sequences: [160], upTo: 160, isLast: true) == nil, "it is live")
        #expect(table.confirm(0, ping(), now: 200) == [receipt(0, 150)])
    }

    /// What the owner has acknowledged is not replayed, and needs no confirmation.
    @Test mutating func emptyPageNeedsNoPing() {
        _ = table.subscribe(0, to: own, as: "driver-42", channel: 7, replay: 1, cursor: 3)
        #expect(table.replayed(0, 7, sequences: [], upTo: 9, isLast: true) == nil)
        #expect(!table.isOwed(0))
        _ = table.notify(7, 10)
        #expect(table.confirm(0, ping(), now: 200) == [receipt(9, 10)])
    }

    /// What a page leaves out was not written: only the cursor moves past it.
    @Test mutating func whatAPageLeavesOutIsNotConfirmed() {
        _ = table.subscribe(0, to: own, as: "driver-42", channel: 7, replay: 1, cursor: 0)
        let next = table.replayed(0, 7, gapEnd: 10, sequences: [12, 13, 15], upTo: 20, isLast: true)
        #expect(next == nil)
        #expect(
            table.confirm(0, ping(), now: 200) == [receipt(10, 10), receipt(11, 13), receipt(14, 15), receipt(20, 20)])
        _ = table.notify(7, 21)
        #expect(table.confirm(0, ping(), now: 200) == [receipt(20, 21)])
    }

    @Test mutating func secondSubscriptionOnAConnectionStartsBehindWhatWasWritten() {
        subscribe()
        _ = table.notify(7, 11)
        let payload = ping()
        table.unsubscribe(0, from: 7)
        #expect(table.notify(7, 12) == [])
        #expect(!table.isOwed(0))
        #expect(table.subscribe(0, to: own, as: "driver-42", channel: 9, replay: 1, cursor: 10) == 11)
        #expect(table.confirm(0, payload, now: 200) == [receipt(10, 11)], "also after it has left")
    }

    @Test mutating func mirroredNamesGetTheirOwnCopies() {
        subscribe(channel: 7)
        subscribe(as: "private-driver-42", channel: 8)
        #expect(table.notify(7, 11) == [] && table.notify(8, 11) == [])
        #expect(table.confirm(0, ping(), now: 200) == [receipt(10, 11), receipt(10, 11)])
    }

    /// A subscription to one name must not take over what is known of the other.
    @Test mutating func mirroredNamesStartBehindTheirOwnCopies() {
        subscribe(channel: 7)
        _ = table.notify(7, 11)
        table.unsubscribe(0, from: 7)
        subscribe(as: "private-driver-42", channel: 7)
        #expect(table.subscribe(0, to: own, as: "driver-42", channel: 8, replay: 3, cursor: 10) == 11)
    }

    @Test mutating func closeReportsWhatWasWrittenAndNotConfirmed() {
        subscribe()
        _ = table.notify(7, 11)
        _ = ping()
        _ = table.notify(7, 12)
        #expect(table.close(0) == [receipt(10, 11, confirmed: nil)])
        #expect(!table.isOwed(0) && table.close(0) == [])
        subscribe()
        #expect(table.notify(7, 12) == [], "the slot's next connection")
    }

    /// A client that unsubscribes and subscribes again while a page is read must not get the page twice, and not under
    /// the name from which it has unsubscribed: the hub gives the mirrored name the same slot.
    @Test mutating func pageOfAnEndedSubscriptionIsNotExpected() {
        #expect(table.subscribe(0, to: own, as: "driver-42", channel: 7, replay: 1, cursor: 10) == 10)
        #expect(table.expectsPage(of: 1, 0, 7))
        table.unsubscribe(0, from: 7)
        #expect(!table.expectsPage(of: 1, 0, 7))
        #expect(table.subscribe(0, to: own, as: "driver-42", channel: 7, replay: 2, cursor: 10) == 10)
        #expect(!table.expectsPage(of: 1, 0, 7))
        #expect(table.expectsPage(of: 2, 0, 7))
        #expect(table.replayed(0, 7, sequences: [11, 12], upTo: 12, isLast: true) == nil)
        #expect(!table.expectsPage(of: 2, 0, 7), "it is live")
    }

    /// The marks of ended subscriptions keep their keys when a connection names another device each time.
    @Test mutating func endedSubscriptionsAreReusedOnceConfirmed() {
        var payloads: [PingPayload] = []
        for number in 0..<3 {
            let key = ReceiptKey(channel: own.channel, owner: own.owner, device: "device-\(number)")
            subscribe(to: key)
            _ = table.notify(7, 11)
            payloads.append(ping())
            table.unsubscribe(0, from: 7)
        }
        let receipts = table.confirm(0, payloads[1], now: 200)
        #expect(receipts.map(\.key.device) == ["device-0", "device-1"])
        subscribe(to: own)
        #expect(table.notify(7, 11) == [])
        let last = ping()
        #expect(table.confirm(0, last, now: 200).map(\.key.device) == ["device-2", "phone"])
    }

    @Test mutating func unconfirmedIsReportedOnce() {
        subscribe()
        _ = table.notify(7, 11)
        let payload = ping(at: 100)
        #expect(table.unconfirmed(since: 99) == [])
        #expect(table.unconfirmed(since: 100) == [receipt(10, 11, confirmed: nil)])
        #expect(table.unconfirmed(since: 200) == [])
        #expect(table.confirm(0, payload, now: 300) == [receipt(10, 11, confirmed: 300)], "late")
    }

    /// A client that confirms nothing must not make the table grow.
    @Test mutating func silentClientHasBoundedState() {
        subscribe()
        var last: PingPayload?
        for sequence in 11...1_000 {
            _ = table.notify(7, Int64(sequence))
            last = ping(at: Int64(sequence))
        }
        let receipts = table.confirm(0, last ?? PingPayload(using: &random), now: 2_000)
        #expect(receipts.count == 128)
        #expect(receipts.first?.after == 10 && receipts.last?.upTo == 1_000)
        #expect(zip(receipts, receipts.dropFirst()).allSatisfy { $0.upTo == $1.after }, "nothing is left out")
    }

    /// An acknowledged notification is not written, so no pong confirms it, however many wait.
    @Test mutating func whatASilentClientDidNotGetIsNotConfirmed() {
        #expect(table.subscribe(0, to: own, as: "driver-42", channel: 7, replay: 1, cursor: 0) == 0)
        let odd = (1...200).map { Int64(2 * $0 - 1) }
        for sequence in odd {
            #expect(table.replayed(0, 7, sequences: [sequence], upTo: sequence, isLast: false) == sequence)
            _ = ping()
        }
        #expect(table.replayed(0, 7, sequences: [], upTo: 400, isLast: true) == nil)
        _ = table.notify(7, 401)
        let receipts = table.confirm(0, ping(), now: 200)
        let confirmed = receipts.flatMap { Array($0.after + 1..<$0.upTo + 1) }
        #expect(confirmed == odd + [401])
    }
}
