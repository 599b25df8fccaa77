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
        .commit(position: 9, record: [4, 5]), .membersQuestion(ticket: 1, room),
        .members(ticket: 1, version, [PresenceMember(id: "ann"), PresenceMember(id: "bob", info: [1])]),
        .terminate(app: "1001", userID: "ann"), .question(ticket: 5, kind: 2, [6]),
        .answer(ticket: 5, isLast: true, [7]), .answer(ticket: 5, isLast: false, []),
        .part(index: 0, isLast: false, [8]), .part(index: 1, isLast: true, []),
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
        for body in [ClusterMessage.Body.several([.goodbye]), .part(index: 0, isLast: true, [])] {
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

    @Test("that are long are put together from their parts; if one is missing, from none")
    func parts() {
        let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
        let parts = ClusterMessage.Body.parts(of: bytes, size: 300)
        #expect(parts.count == 4)
        var received = ReceivedParts()
        /// Expects a message, or none, with the last of these parts.
        func expect(_ whole: [UInt8]?, after numbers: [Int], from sender: UInt64 = 1) {
            var last: [UInt8]?
            for case .part(let index, let isLast, let part) in numbers.map({ parts[$0] }) {
                last = received.receive(part, index: index, isLast: isLast, from: Epoch(sender))
            }
            #expect(last == whole)
        }
        expect(bytes, after: [0, 1, 2, 3])
        expect(nil, after: [3])
        expect(nil, after: [0, 1, 3])
        expect(nil, after: [2, 3])
        expect(bytes, after: [0, 1, 0, 1, 2, 3])
        expect(nil, after: [0, 1])
        expect(bytes, after: [0, 1, 2, 3], from: 2)
        received.forget(Epoch(1))
        expect(nil, after: [2, 3])
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
