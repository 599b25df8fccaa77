import HubFixture
import PusherProtocol
import TestSupport
import Testing

@testable import FanOut

/// Flushes that the limit of writes cuts short.
@Suite struct LoopFanOutSlicesTests {
    /// Sockets 0 to 299 of one loop. All are subscribed to channel 0, which is large. The last 50 are also subscribed
    /// to channel 1, which is small.
    private var loop = LoopFanOut()
    private let sockets = (0..<300).map { socket("\($0 + 1).\($0)") }
    private let large = 0
    private let small = 1

    init() {
        for socket in sockets {
            loop.open(socket)
            loop.apply(.join(large, socket))
        }
        for socket in sockets.suffix(50) { loop.apply(.join(small, socket)) }
    }

    /// The recipients and texts of one flush.
    private mutating func flush(_ writesMax: Int) -> [(slot: Int, text: String)] {
        var writes: [(Int, String)] = []
        let isUnfinished = loop.flush(writesMax: writesMax) { writes.append(($0.slot, text(of: $1))) }
        #expect(isUnfinished == loop.isPending)
        return writes
    }

    private mutating func publish(_ text: String, _ channel: ChannelSlot, except sender: SocketID? = nil) {
        loop.apply(.fanOut(Frame(text: Array(text.utf8)), channel, except: sender))
    }

    @Test mutating func flushStopsAtTheLimitAndContinuesLater() {
        publish("a", large)
        var slots: [[Int]] = []
        while loop.isPending { slots.append(flush(100).map(\.slot)) }
        #expect(slots == [Array(0..<100), Array(100..<200), Array(200..<300)])
    }

    @Test mutating func eventsAreWrittenWhenTheirLastSliceIs() {
        #expect(loop.writtenEnd == loop.end)
        publish("a", large)
        let end = loop.end
        #expect(loop.writtenEnd < end)
        _ = flush(100)
        publish("b", large)
        _ = flush(150)
        #expect(loop.writtenEnd < end)
        _ = flush(50)
        #expect(loop.writtenEnd >= end && loop.writtenEnd < loop.end, "later events have receivers left")
        _ = flush(1_000)
        #expect(loop.writtenEnd == loop.end)
    }

    @Test mutating func newEventsJoinTheRestOfASlicedChannel() {
        publish("a", large)
        _ = flush(100)
        publish("b", large)
        let rest = flush(1_000)
        #expect(rest.count == 300)
        #expect(rest.prefix(200).allSatisfy { $0.slot >= 100 && $0.text == "ab" })
        #expect(rest.suffix(100).allSatisfy { $0.slot < 100 && $0.text == "b" })
    }

    @Test mutating func smallChannelsAndDirectMessagesOvertakeALargeChannel() {
        publish("a", large)
        _ = flush(100)
        publish("b", small)
        loop.apply(.send(Frame(text: Array("c".utf8)), to: sockets[200]))
        let next = flush(100)
        #expect(next.prefix(51).map(\.slot) == [200] + Array(250..<300))
        #expect(next[0].text == "ac", "a connection's own order is kept")
        #expect(next[1...50].allSatisfy { $0.text == "ab" })
        #expect(next.dropFirst(51).map(\.slot) == Array(100..<149))
    }

    @Test mutating func largeChannelsProceedWhileUrgentFramesKeepComing() {
        publish("a", large)
        var bulk = 0
        for _ in 0..<25 {
            for socket in sockets.suffix(50) { loop.apply(.send(Frame(text: []), to: socket)) }
            bulk += flush(40).count { $0.slot < 250 }
        }
        #expect(bulk == 250)
    }

    @Test mutating func joinsAndLeavesDuringASlicedEventKeepTheRules() {
        publish("a", large)
        _ = flush(100)
        let newcomer = socket("999.300")
        loop.open(newcomer)
        loop.apply(.join(large, newcomer))
        loop.apply(.leave(large, sockets[299]))
        publish("b", large)
        let rest = flush(1_000)
        #expect(rest.first { $0.slot == 300 }?.text == "b")
        #expect(rest.first { $0.slot == 299 }?.text == "a")
        #expect(rest.filter { (100..<299).contains($0.slot) }.allSatisfy { $0.text == "ab" })
        #expect(rest.count == 301)
    }

    @Test mutating func closedConnectionGetsNothingAndItsSuccessorNothingOld() {
        publish("a", large)
        _ = flush(100)
        loop.apply(.leave(large, sockets[200]))
        loop.close(sockets[200])
        let successor = socket("999.200")
        loop.open(successor)
        loop.apply(.join(large, successor))
        publish("b", large)
        let rest = flush(1_000)
        #expect(rest.filter { $0.slot == 200 }.map(\.text) == ["b"])
    }

    @Test mutating func flushOfOneConnectionSendsAllItsFrames() {
        publish("a", large)
        _ = flush(10)
        publish("b", small)
        var writes: [String] = []
        loop.flush(sockets[299]) { writes.append("\($0.slot) \(text(of: $1))") }
        loop.flush(sockets[299]) { writes.append("\($0.slot) \(text(of: $1))") }
        #expect(writes == ["299 ab"])
        let others = flush(1_000)
        #expect(others.count == 289)
    }

    /// A presence channel in which users come and go: each change is an event for all members.
    @Test mutating func joinsAndLeavesDoNotMultiplyWrites() {
        for round in 0..<40 {
            let guest = socket("\(1_000 + round).\(300 + round)")
            loop.open(guest)
            loop.apply(.join(small, guest))
            publish("+", small, except: guest)
            loop.apply(.leave(small, guest))
            publish("-", small)
        }
        let writes = flush(1_000)
        #expect(writes.filter { $0.slot < 300 }.map(\.text) == Array(repeating: String(repeating: "+-", count: 40), count: 50))
        #expect(writes.count == 50, "the guests have left before any event for them")
    }

    /// Without an idle moment in which everything could be forgotten.
    @Test mutating func memoryDoesNotGrowWhileFramesArePending() {
        for _ in 0..<1_000 {
            publish("a", large)
            _ = flush(60)
            #expect(loop.pendingFrameCount < 100)
            #expect(loop.isPending)
        }
    }
}

/// The texts of a frame's messages, which must be short, joined.
private func text(of frame: Frame) -> String {
    var text = ""
    var offset = 0
    while offset < frame.bytes.count {
        let end = offset + 2 + Int(frame.bytes[offset + 1])
        text += String(decoding: frame.bytes[offset + 2..<end], as: UTF8.self)
        offset = end
    }
    return text
}

/// Random instructions and flushes, compared with one list of expected frames per connection.
@Suite struct LoopFanOutModelTests {
    @Test(arguments: 0..<200) func everyConnectionGetsItsFramesInOrder(seed: Int) {
        var dice = SplitMix(seed: UInt64(seed))
        var model = Model(writesMax: dice.within(1...12), channelCount: dice.within(1...6))
        for _ in 0..<600 { model.step(&dice) }
        model.finish()
    }

    private struct Model {
        let writesMax: Int
        let channelCount: Int
        var loop = LoopFanOut()
        var open: [SocketID] = []
        var subscribers: [[SocketID]]
        /// The text that each connection must get and has not got yet.
        var expected: [SocketID: String] = [:]
        var salt = 0
        var number = 0

        init(writesMax: Int, channelCount: Int) {
            self.writesMax = writesMax
            self.channelCount = channelCount
            subscribers = Array(repeating: [], count: channelCount)
        }

        mutating func step(_ dice: inout SplitMix) {
            let channel = dice.below(channelCount)
            switch dice.below(20) {
            case 0, 1: openConnection(&dice)
            case 2: if let socket = dice.pick(open) { close(socket) }
            case 3...6: if let socket = dice.pick(open) { join(channel, socket) }
            case 7, 8: if let socket = dice.pick(subscribers[channel]) { leave(channel, socket) }
            case 9...13: publish(channel, except: dice.chance(percent: 30) ? dice.pick(open) : nil)
            case 14, 15: if let socket = dice.pick(open) { send(socket) }
            case 16: if let socket = dice.pick(open) { flush(socket) }
            default: flush()
            }
        }

        mutating func finish() {
            for _ in 0..<1_000 where loop.isPending { flush() }
            for socket in open { #expect(expected[socket] == "", "\(socket) has not got all its frames") }
        }

        private mutating func openConnection(_ dice: inout SplitMix) {
            let slot = (0...open.count).filter { slot in !open.contains { $0.slot == slot } }.randomElement(using: &dice) ?? 0
            salt += 1
            let socket = HubFixture.socket("\(salt).\(slot)")
            loop.open(socket)
            open.append(socket)
            expected[socket] = ""
        }

        private mutating func close(_ socket: SocketID) {
            for channel in 0..<channelCount where subscribers[channel].contains(socket) { leave(channel, socket) }
            loop.close(socket)
            open.removeAll { $0 == socket }
            expected[socket] = nil
        }

        private mutating func join(_ channel: Int, _ socket: SocketID) {
            guard !subscribers[channel].contains(socket) else { return }
            loop.apply(.join(channel, socket))
            subscribers[channel].append(socket)
        }

        private mutating func leave(_ channel: Int, _ socket: SocketID) {
            loop.apply(.leave(channel, socket))
            subscribers[channel].removeAll { $0 == socket }
        }

        private mutating func publish(_ channel: Int, except sender: SocketID?) {
            let (text, frame) = nextFrame()
            loop.apply(.fanOut(frame, channel, except: sender))
            for socket in subscribers[channel] where socket != sender { expected[socket]? += text }
        }

        private mutating func send(_ socket: SocketID) {
            let (text, frame) = nextFrame()
            loop.apply(.send(frame, to: socket))
            expected[socket]? += text
        }

        private mutating func nextFrame() -> (String, Frame) {
            number += 1
            return ("\(number),", Frame(text: Array("\(number),".utf8)))
        }

        private mutating func flush() {
            var writes: [(socket: SocketID, frame: Frame)] = []
            let isUnfinished = loop.flush(writesMax: writesMax) { writes.append(($0, $1)) }
            #expect(isUnfinished == loop.isPending)
            #expect(writes.count <= writesMax)
            #expect(Set(writes.map(\.socket)).count == writes.count, "one write per connection")
            for (socket, frame) in writes { receive(socket, frame) }
        }

        private mutating func flush(_ socket: SocketID) {
            var writes: [(socket: SocketID, frame: Frame)] = []
            loop.flush(socket) { writes.append(($0, $1)) }
            for (socket, frame) in writes { receive(socket, frame) }
            #expect(expected[socket] == "")
        }

        private mutating func receive(_ socket: SocketID, _ frame: Frame) {
            let text = text(of: frame)
            guard let rest = expected[socket], rest.hasPrefix(text), !text.isEmpty else {
                Issue.record("\(socket) got \(text), expected \(expected[socket] ?? "nothing")")
                return
            }
            expected[socket] = String(rest.dropFirst(text.count))
        }
    }
}
