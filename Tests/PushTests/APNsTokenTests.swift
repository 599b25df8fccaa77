import Crypto
import Testing

@testable import Push

struct APNsTokenTests {
    private static let minute: Int64 = 60_000

    private func token() throws -> APNsToken {
        APNsToken(teamID: "TEAM123456", keyID: "KEY1234567", key: try PrivateKey(pem: PushKeys.p256))
    }

    @Test func containsTeamAndIssueTime() throws {
        let issued = try token().current(at: time(0))
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

    /// - Parameters:
    ///   - tick: the time of the monotonic clock in milliseconds. The wall clock differs from it by a constant, plus
    ///     `step`.
    ///   - step: by how many milliseconds the wall clock was set forward; negative if it was set back.
    private func time(_ tick: Int64, setBy step: Int64 = 0) -> CredentialTime {
        CredentialTime(clock: 1_700_000_000_999 + tick + step, tick: tick)
    }

    @Test func sharesOneTokenFor45Minutes() throws {
        let token = try token()
        let first = token.current(at: time(0))
        #expect(token.current(at: time(45 * Self.minute - 1)) == first)
        #expect(token.drainRenewed())
        #expect(!token.drainRenewed(), "reported once")
        let second = token.current(at: time(45 * Self.minute))
        #expect(second.generation == 1)
        #expect(second.authorization != first.authorization)
        #expect(token.drainRenewed())
        #expect(token.current(at: time(90 * Self.minute - 1)) == second)
        #expect(
            !token.outdatesConnections(withGeneration: 0, at: time(90 * Self.minute)),
            "a connection may carry several tokens, one after the other")
    }

    @Test func forcedRenewalHappensOncePer20Minutes() throws {
        let token = try token()
        let first = token.current(at: time(0))
        let second = try #require(token.renew(after: first.generation, at: time(Self.minute)))
        #expect(second.generation == 1)
        // The other lane requests the same renewal: it gets the token just issued.
        #expect(token.renew(after: first.generation, at: time(Self.minute)) == second)
        #expect(token.renew(after: second.generation, at: time(20 * Self.minute)) == nil)
        // The interval is measured by the monotonic clock, so setting the wall clock makes no difference.
        #expect(token.renew(after: second.generation, at: time(20 * Self.minute, setBy: 60 * Self.minute)) == nil)
        #expect(token.renew(after: second.generation, at: time(20 * Self.minute, setBy: -60 * Self.minute)) == nil)
        #expect(token.current(at: time(20 * Self.minute)) == second)
        #expect(token.renew(after: second.generation, at: time(21 * Self.minute))?.generation == 2)
    }

    @Test func smallClockChangesKeepTheToken() throws {
        let token = try token()
        let first = token.current(at: time(0))
        for step in [-Self.minute, 15 * Self.minute] {
            #expect(token.current(at: time(29 * Self.minute, setBy: step)) == first)
            #expect(!token.outdatesConnections(withGeneration: 0, at: time(10, setBy: step)))
        }
        #expect(
            token.current(at: time(29 * Self.minute, setBy: -30 * Self.minute)) == first,
            "the token's issue time is at most a minute in the future")
        #expect(
            token.current(at: time(45 * Self.minute, setBy: -30 * Self.minute)).generation == 1,
            "the first token has expired by the monotonic clock")
    }

    /// A token whose issue time is wrong is replaced. A connection that carried the token less than 20 minutes ago must
    /// not carry the replacement, too, so it is outdated.
    @Test(arguments: [-120 * minute, -2 * minute, 45 * minute]) func largeClockChangeIssuesAnotherTokenAndOutdatesConnections(
        _ step: Int64
    ) throws {
        let token = try token()
        _ = token.current(at: time(0))
        #expect(!token.outdatesConnections(withGeneration: 0, at: time(10)))
        #expect(token.outdatesConnections(withGeneration: 0, at: time(10, setBy: step)))
        #expect(token.current(at: time(10, setBy: step)).generation == 1)
        #expect(token.outdatesConnections(withGeneration: 0, at: time(10, setBy: step)), "also for the other lane")
        #expect(!token.outdatesConnections(withGeneration: 1, at: time(10, setBy: step)))
        // The clock is set right again. A token whose issue time is now two minutes in the past stays valid.
        #expect(token.outdatesConnections(withGeneration: 1, at: time(20)) == (step != -2 * Self.minute))
        #expect(token.current(at: time(45 * Self.minute + 10)).generation == 2)
    }

    @Test func clockChangeAfter20MinutesKeepsConnections() throws {
        let token = try token()
        _ = token.current(at: time(0))
        let later = time(20 * Self.minute, setBy: -60 * Self.minute)
        #expect(!token.outdatesConnections(withGeneration: 0, at: later))
        #expect(token.current(at: later).generation == 1)
        #expect(!token.outdatesConnections(withGeneration: 0, at: later))
    }

    private func text(_ part: String) -> String { String(decoding: Base64URL.bytes(part) ?? [], as: UTF8.self) }
}
