import FanOut
import PusherProtocol
import TestSupport
import Testing

@testable import Realtime

@Suite struct WaitingSubscriptionsTests {
    private let channel = ChannelName("jobs", lengthMax: 200)!

    private func grant() throws -> SubscriptionGrant {
        try SubscriptionRequest(channel: "jobs", auth: nil, channelData: nil)
            .grant(to: Self.socket(0), key: "k", limits: Limits()) { _, _ in false }
    }

    private static func socket(_ slot: Int) -> SocketID { SocketID("\(slot + 1).\(slot)")! }

    @Test func aConnectionWaitsOnce() throws {
        var waiting = WaitingSubscriptions()
        let grant = try grant()
        let added = [0, 0, 1].map { waiting.add(Self.socket(1), grant, app: $0) }
        #expect(added == [true, false, true], "the last one is a channel of another application")
        #expect(waiting.count(channel, app: 0) == 1)
    }

    @Test func eachSubscriptionIsOpenedOrCancelledOnce() throws {
        var waiting = WaitingSubscriptions()
        let grant = try grant()
        for slot in 0..<100 { _ = waiting.add(Self.socket(slot), grant, app: 0) }
        let cancelled = [3, 3].map { waiting.cancel(Self.socket($0), channel, app: 0) }
        #expect(cancelled == [true, false])
        var opened: [SocketID] = []
        while let (socket, _) = waiting.popLast(channel, app: 0) { opened.append(socket) }
        #expect(opened.count == 99 && Set(opened).count == 99 && !opened.contains(Self.socket(3)))
        #expect(waiting.count(channel, app: 0) == 0)
    }

    /// 20,000 connections subscribe to one channel while its subject is not acknowledged, and cancel.
    @Test func waitingDoesNotSearchTheOthers() throws {
        let grant = try grant()
        let time = { (count: Int) in
            ThreadTime.of {
                var waiting = WaitingSubscriptions()
                for slot in 0..<count { _ = waiting.add(Self.socket(slot), grant, app: 0) }
                for slot in 0..<count { _ = waiting.cancel(Self.socket(slot), channel, app: 0) }
            }
        }
        let few = ThreadTime.fastest { time(1_250) }
        #expect(ThreadTime.isEver(below: few * 16 * 4) { time(20_000) }, "16 times as many")
    }
}
