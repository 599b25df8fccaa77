import PusherProtocol
import Signing
import Testing

@testable import Push

struct APNsTokenTests {
    private static let minute: Int64 = 60_000

    private func token() throws -> APNsToken {
        APNsToken(teamID: "TEAM123456", keyID: "KEY1234567", key: try PrivateKey(pem: PushKeys.p256))
    }

    @Test func saysWhoWeAreAndSinceWhen() throws {
        let issued = try token().current(at: 1_700_000_000_999)
        #expect(issued.generation == 0)
        #expect(issued.authorization.hasPrefix("bearer "))
        let parts = issued.authorization.dropFirst(7).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        #expect(text(parts[0]) == #"{"alg":"ES256","typ":"JWT","kid":"KEY1234567"}"#)
        #expect(text(parts[1]) == #"{"iss":"TEAM123456","iat":1700000000}"#)
        let signature = try #require(Base64URL.bytes(parts[2]))
        #expect(signature.count == 64)
        let key = try PublicKey(pem: PushKeys.p256Public)
        #expect(key.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func servesAllForThreeQuartersOfAnHour() throws {
        let token = try token()
        let first = token.current(at: 0)
        #expect(token.current(at: 45 * Self.minute - 1) == first)
        #expect(token.takeNews())
        #expect(!token.takeNews(), "told once")
        let second = token.current(at: 45 * Self.minute)
        #expect(second.generation == 1)
        #expect(second.authorization != first.authorization)
        #expect(token.takeNews())
        #expect(token.current(at: 90 * Self.minute - 1) == second)
    }

    @Test func isRenewedOncePerNeed() throws {
        let token = try token()
        let first = token.current(at: 0)
        let second = try #require(token.renewed(after: first.generation, at: Self.minute))
        #expect(second.generation == 1)
        // The other lane hears of the same trouble: it gets the one that has been made.
        #expect(token.renewed(after: first.generation, at: Self.minute) == second)
        #expect(token.renewed(after: second.generation, at: 20 * Self.minute) == nil)
        #expect(token.current(at: 20 * Self.minute) == second)
        #expect(token.renewed(after: second.generation, at: 21 * Self.minute)?.generation == 2)
    }

    @Test func aClockThatIsSetBackMakesAnother() throws {
        let token = try token()
        let first = token.current(at: 100 * Self.minute)
        #expect(token.current(at: 99 * Self.minute) == first)
        #expect(token.current(at: 98 * Self.minute).generation == 1)
    }

    private func text(_ part: String) -> String { String(decoding: Base64URL.bytes(part) ?? [], as: UTF8.self) }
}
