import FanOut
import Primitives
import PusherProtocol
import Testing

@testable import Cluster

@Suite("Messages between nodes")
struct ClusterMessageTests {
    private static let socket = SocketID(bits: 0x1234_5678_0000_0002)
    private static let room = PresenceChannel(app: "1001", name: "presence-room")
    private static let version = PresenceVersion(channel: room, version: 7)

    private static let bodies: [ClusterMessage.Body] = [
        .event(frame: [1, 2, 3], except: nil), .event(frame: [], except: socket),
        .memberJoined(version: 1, PresenceMember(id: "ann", info: Array("{}".utf8))),
        .memberJoined(version: 2, PresenceMember(id: "Ωmega")), .memberLeft(version: 3, userID: "ann"),
        .heartbeat(name: "n1", []), .heartbeat(name: "n1", [version, version]), .goodbye,
        .logged(position: 9, entry: [4, 5]), .membersQuestion(ticket: 1, room),
        .members(ticket: 1, version, [PresenceMember(id: "ann"), PresenceMember(id: "bob", info: [1])]),
        .terminate(app: "1001", userID: "ann"), .question(ticket: 5, kind: 2, [6]),
        .answer(ticket: 5, isLast: true, [7]), .answer(ticket: 5, isLast: false, []),
        .part(of: 7, index: 0, isLast: false, [8]), .part(of: 7, index: 1, isLast: true, []),
        .several([]), .several([.goodbye, .event(frame: [1, 2], except: nil), .heartbeat(name: "n1", [version])]),
    ]

    @Test("are read as they were written", arguments: bodies)
    func roundTrip(body: ClusterMessage.Body) throws {
        var message = ClusterMessage(sender: Epoch(0xABCD), body)
        (message.number, message.numberBefore) = (12, 11)
        let read = try #require(ClusterMessage(message.bytes))
        #expect(read == message)
    }

    @Test("that are cut or longer are rejected, but for the tails of frames", arguments: bodies)
    func cut(body: ClusterMessage.Body) {
        let bytes = ClusterMessage(sender: Epoch(1), body).bytes
        for count in 0..<26 { #expect(ClusterMessage(Array(bytes.prefix(count))) == nil) }
        for count in 26..<max(26, bytes.count) { _ = ClusterMessage(Array(bytes.prefix(count))) }
    }

    @Test("of another version or kind are ignored")
    func otherVersions() {
        var bytes = ClusterMessage(sender: Epoch(1), .goodbye).bytes
        bytes[0] = 2
        #expect(ClusterMessage(bytes) == nil)
        bytes[0] = 1
        bytes[1] = 200
        #expect(ClusterMessage(bytes) == nil)
    }

    @Test("a bundle contains no bundle, and no part")
    func nested() {
        for body in [ClusterMessage.Body.several([.goodbye]), .part(of: 7, index: 0, isLast: true, [])] {
            #expect(ClusterMessage(ClusterMessage(sender: Epoch(1), .several([.goodbye, body])).bytes) == nil)
        }
    }

    @Test("are bundled in their order, up to a size")
    func bundles() {
        let small = (0..<100).map { ClusterMessage.Body.sharesEnd($0) }
        let bundles = ClusterMessage.Body.bundles(of: small, bytes: 1_000)
        #expect(bundles.count == 7)
        let unpacked = bundles.flatMap { bundle -> [ClusterMessage.Body] in
            if case .several(let bodies) = bundle { bodies } else { [bundle] }
        }
        #expect(unpacked == small)
        let large = ClusterMessage.Body.answer(ticket: 1, isLast: true, ArraySlice(repeating: 1, count: 2_000))
        #expect(ClusterMessage.Body.bundles(of: [.goodbye, large, .goodbye], bytes: 1_000) == [.goodbye, large, .goodbye])
        #expect(ClusterMessage.Body.bundles(of: [], bytes: 1_000) == [])
    }

    /// The parts of two messages, as if one sender had sent them after each other.
    private static let parted: [[ClusterMessage.Body]] = [7, 8].map { number in
        var message = ClusterMessage(
            sender: Epoch(1), .logged(position: 1, entry: ArraySlice(repeating: UInt8(number), count: 1_000)))
        message.number = UInt64(number)
        return message.parts(size: 300)
    }

    @Test("that are long are put together from their parts; if one is missing, or comes late, from none")
    func parts() throws {
        #expect(Self.parted.allSatisfy { $0.count == 4 })
        var received = ReceivedParts()
        /// Receives parts of both messages, and expects the record of a message, or none, with the last of them.
        func expect(_ record: UInt8?, after parts: [(message: Int, index: Int)], from sender: UInt64 = 1, at now: Int64 = 0)
            throws
        {
            var last: [UInt8]?
            for case .part(let number, let index, let isLast, let bytes) in parts.map({ Self.parted[$0.message][$0.index] }) {
                last = received.receive(bytes, of: number, index: index, isLast: isLast, from: Epoch(sender), at: now)
            }
            guard let record else { return #expect(last == nil) }
            let message = try #require(last.flatMap { ClusterMessage($0) })
            #expect(message.body == .logged(position: 1, entry: ArraySlice(repeating: record, count: 1_000)))
        }
        let (one, two) = ((0..<4).map { (0, $0) }, (0..<4).map { (1, $0) })
        try expect(7, after: one)
        try expect(nil, after: [one[3]])
        try expect(nil, after: [one[0], one[1], one[3]])
        try expect(nil, after: [one[2], one[3]])
        try expect(7, after: [one[0], one[1]] + one)
        try expect(8, after: [one[0], one[1]] + two)
        try expect(nil, after: [one[0], one[1], two[2], two[3]])
        try expect(nil, after: [one[0], one[1]])
        try expect(8, after: two, from: 2)
        received.forget(Epoch(1))
        try expect(nil, after: [one[2], one[3]])
        try expect(nil, after: [one[0], one[1], one[2]])
        received.tick(at: 10_000)
        try expect(nil, after: [one[3]])
    }

    @Test("an event takes at most 64 bytes beside its frame")
    func overhead() {
        let frame = Array(repeating: UInt8(7), count: 1_000)
        let message = ClusterMessage(sender: Epoch(.max), .event(frame: frame[...], except: Self.socket))
        #expect(message.bytes.count - frame.count <= 64)
    }

    @Test("subjects contain no characters that divide them")
    func subjects() throws {
        let subjects = Subjects(name: "fleetwire")
        let channel = try #require(ChannelName("a.b=c@d,e;f", lengthMax: 200))
        #expect(subjects.channel(channel, app: "1001") == "fleetwire.1001.c.YS5iPWNAZCxlO2Y")
        #expect(subjects.channel(channel, app: "a.b") == "fleetwire.=YS5i.c.YS5iPWNAZCxlO2Y")
    }
}
