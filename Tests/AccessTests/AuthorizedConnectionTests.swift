import Access
import Cluster
import HubFixture
import PusherProtocol
import Testing

@Suite("The question about an authorized connection on the wire")
struct AuthorizedConnectionTests {
    private static let questions = [
        AuthorizedConnection(
            SocketID(bits: 0x1234_5678_0000_0002), Identity(role: .customer, id: "7", name: "Ann", bookings: ["B1", "Ω"]),
            device: "phone", channel: name("private-a")),
        AuthorizedConnection(SocketID(bits: 0x1_0000_0000), Identity(role: .driver, id: "42"), device: "", channel: nil),
    ]

    @Test("is read as it was written", arguments: questions)
    func roundTrip(question: AuthorizedConnection) {
        #expect(AuthorizedConnection(question.bytes) == question)
    }

    @Test("that is cut is another one or none", arguments: questions)
    func cut(question: AuthorizedConnection) {
        for count in 0..<question.bytes.count {
            #expect(AuthorizedConnection(Array(question.bytes.prefix(count))) != question)
        }
    }

    @Test("has the kind and the bytes that nodes of earlier versions understand")
    func bytes() {
        let question = ClusterQuestion.custom(Self.questions[1].bytes)
        #expect(question.kind == 1 && question.endsWithFirst)
        let expected: [UInt8] =
            [0, 0, 0, 1, 0, 0, 0, 0] + [0, 0, 0, 6] + Array("driver".utf8) + [0, 0, 0, 2] + Array("42".utf8)
        #expect(question.bytes == expected + [0, 0, 0, 0, 0, 0])
        #expect(AuthorizedConnection.isHere == [1])
    }
}
