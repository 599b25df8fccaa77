import FanOut
import PusherProtocol
import Testing

@testable import Cluster

@Suite("Questions and shares on the wire")
struct ClusterQuestionTests {
    private static let questions: [ClusterQuestion] = [
        .custom([1, 2, 3]), .custom([]),
        .occupancy(app: "1001", channels: []), .occupancy(app: "1001", channels: ["a", "presence-b"]),
        .channels(app: "1001", prefix: ""), .channels(app: "", prefix: "presence-"),
        .connections(ConnectionSearch(Hub.ConnectionFilter(), after: nil, limit: 1)),
        .connections(
            ConnectionSearch(
                Hub.ConnectionFilter(channel: name("presence-a"), user: "driver:Ω"), after: Hub.ConnectionPosition("5-1.2"),
                limit: 200)),
        .position(SocketID(bits: 0x1234_5678_0000_0002)),
    ]

    private static let shares: [ChannelShare] = [
        ChannelShare(name: "a", subscriptions: 3, users: nil), ChannelShare(name: "presence-b", subscriptions: 2, users: []),
        ChannelShare(name: "presence-c", subscriptions: 4, users: ["ann", "", "Ω"]),
    ]

    @Test("are read as they were written", arguments: questions)
    func roundTrip(question: ClusterQuestion) throws {
        let read = try #require(ClusterQuestion(kind: question.kind, question.bytes))
        #expect("\(read)" == "\(question)")
    }

    @Test("that are cut never crash, and are other questions or none", arguments: questions)
    func cut(question: ClusterQuestion) {
        for count in 0..<question.bytes.count {
            let read = ClusterQuestion(kind: question.kind, Array(question.bytes.prefix(count)))
            #expect(read.map { "\($0)" } != "\(question)")
        }
        for kind in [0, 8, 255] as [UInt8] { #expect(ClusterQuestion(kind: kind, question.bytes) == nil) }
    }

    @Test("one answer suffices where one node has what is asked for")
    func endsWithFirst() {
        #expect(Self.questions.map(\.endsWithFirst) == [true, true, false, false, false, false, false, false, true])
    }

    @Test("for a page that is too large or empty, or begins nowhere, are none", arguments: [0, 201, Int(UInt32.max)])
    func badSearches(limit: Int) {
        let question = ClusterQuestion.connections(ConnectionSearch(Hub.ConnectionFilter(), after: nil, limit: limit))
        #expect(ClusterQuestion(kind: question.kind, question.bytes) == nil)
        for (channel, position) in [("", nil), ("a", "5"), ("a", "5-0.1")] as [(String, String?)] {
            var writer = ByteWriter(capacity: 32)
            writer.append(optional: channel)
            writer.append(optional: nil)
            writer.append(optional: position)
            writer.append(UInt64(1))
            #expect(ClusterQuestion(kind: question.kind, writer.bytes) == nil)
        }
    }

    @Test("shares are read as they were written, whatever the parts")
    func shares() {
        #expect(ChannelShare.list(ChannelShare.parts(of: Self.shares).flatMap { $0 }) == Self.shares)
        #expect(ChannelShare.parts(of: []) == [[]])
        let many = (0..<3).map { index in
            ChannelShare(
                name: "presence-\(index)", subscriptions: index, users: (0..<20_000).map { "a user with a long name \($0)" })
        }
        let parts = ChannelShare.parts(of: many)
        #expect(parts.count == 4)
        #expect(ChannelShare.list(parts.flatMap { $0 }) == many)
    }

    @Test("cut shares are the whole ones before the cut")
    func cutShares() {
        let bytes = ChannelShare.parts(of: Self.shares)[0]
        for count in 0..<bytes.count {
            let read = ChannelShare.list(Array(bytes.prefix(count)))
            #expect(read == Array(Self.shares.prefix(read.count)) && read.count < Self.shares.count)
        }
    }

    @Test("sums add the subscriptions, and count each user once")
    func sums() {
        var sums = ChannelSums()
        sums.add(Self.shares)
        sums.add([
            ChannelShare(name: "presence-c", subscriptions: 1, users: ["ann", "bob"]),
            ChannelShare(name: "no name", subscriptions: 1, users: nil),
        ])
        #expect(sums.channels.map(\.name) == ["a", "presence-b", "presence-c"])
        #expect(sums.channels.map(\.occupancy.subscriptions) == [3, 2, 5])
        #expect(sums.channels.map(\.occupancy.users) == [nil, 0, 4])
        #expect(sums.users(of: name("presence-c")) == ["ann", "", "Ω", "bob"])
    }
}
