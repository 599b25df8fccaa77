import Access
import JSON
import Primitives
import Testing
import Threads

@testable import Fleet

/// Sign-in by code, as the writer executes it. Times are seconds since ``noon``.
@Suite struct SignInCodeTests {
    private let store = TemporaryStore()
    let executor: CommandExecutor
    /// What was signed into the last token.
    let signed = Lock<CustomerTokenClaims?>(nil)
    static let phone = "+11234567890"

    init() throws {
        let signed = signed
        executor = try store.executor {
            $0.codes.sign = { claims in
                signed.withLock { $0 = claims }
                return "token-\(claims.customer.id)"
            }
        }
    }

    // MARK: Requests

    func commit(
        _ request: any Command, at seconds: Double, by actor: Identity? = nil, from client: String? = nil,
        on other: CommandExecutor? = nil
    ) throws -> CommandReply {
        var command = command(request, by: actor)
        command.client = client
        return try (other ?? executor).commit(command, at: noon + Int64(seconds * 1_000))
    }

    func number(_ phone: String) throws -> PhoneNumber {
        var form = LoginForm()
        form.callingCode = .value(String(phone.prefix(2)))
        form.country = .value("us")
        form.phone = .value(String(phone.dropFirst(2)))
        form.userType = .value("customer")
        return try form.number(countries: [])
    }

    func logIn(_ phone: String = phone, at seconds: Double, from client: String? = nil) throws -> CommandReply {
        try commit(SendSignInCode(try number(phone)), at: seconds, from: client)
    }

    /// Asks for a code whose SMS is sent at once.
    func send(_ phone: String = phone, at seconds: Double, from client: String? = nil) throws -> SignInCodeMessage {
        let message = try #require(try logIn(phone, at: seconds, from: client).message, "no SMS")
        #expect(try deliver(message, at: seconds).status == 200)
        return message
    }

    func deliver(_ message: SignInCodeMessage, _ isSent: Bool = true, at seconds: Double) throws -> CommandReply {
        try commit(RecordSignInSMS(message.result(isSent: isSent)), at: seconds)
    }

    func verify(
        _ message: SignInCodeMessage, _ code: String? = nil, at seconds: Double, from client: String? = nil
    ) throws -> CommandReply {
        try commit(VerifySignInCode(sessionID: message.sessionID, code: code ?? message.code), at: seconds, from: client)
    }

    /// Another code than that of a message.
    func wrong(_ message: SignInCodeMessage) -> String { message.code == "000000" ? "000001" : "000000" }

    func counts() -> [SignInCodeOutcome: Int] { executor.drainCodeCounts().outcomes }

    /// The customer of the last token, and its sign-in.
    @discardableResult
    func signIn(
        _ phone: String = phone, at seconds: Double, from client: String? = nil
    ) throws -> (Identity, TokenSession) {
        _ = try verify(try send(phone, at: seconds, from: client), at: seconds + 1, from: client)
        let claims = try #require(signed.withLock { $0 })
        let session = try #require(TokenSession(jti: claims.id, expiresAt: claims.issuedAt + 3_600))
        var identity = claims.identity
        identity.session = session
        return (identity, session)
    }

    // MARK: Sending

    @Test func theReplyIsThatToWhatBecameOfTheSMS() throws {
        let reply = try logIn(at: 0)
        let message = try #require(reply.message)
        #expect(reply.body.isEmpty && message.phone == Self.phone && !message.isResent)
        #expect(message.code.utf8.count == 6 && message.code.utf8.allSatisfy { 0x30...0x39 ~= $0 })
        #expect(message.sessionID.utf8.count == 27 && message.sessionID.hasPrefix("temp_"))
        #expect(
            try deliver(message, at: 2).text
                == #"{"success":true,"message":"OTP sent successfully","data":{"message":"OTP sent to your phone number","#
                + #""otp_type":"sms","temp_user_id":"\#(message.sessionID)","expires_in":300,"cooldown_remaining":60},"#
                + #""timestamp":"2026-11-21T12:00:02Z","code":200}"#, "the times begin when the SMS is sent")
        #expect(counts() == [.sent: 1])
    }

    @Test func aSecondLoginWaitsForTheSameSMS() throws {
        let message = try #require(try logIn(at: 0).message)
        let second = try logIn(at: 1)
        #expect(second.message == nil && second.deferred?.token == message.sessionID)
        _ = try deliver(message, at: 2)
        let third = try logIn(at: 32)
        #expect(third.message == nil && third.deferred == nil)
        #expect(third.text.contains(#""temp_user_id":"\#(message.sessionID)","expires_in":270,"cooldown_remaining":30}"#))
        #expect(counts() == [.sent: 1, .cooldown: 2])
        #expect(try send(at: 62).sessionID != message.sessionID)
    }

    @Test func noCooldownBeginsWithoutSMS() throws {
        let message = try #require(try logIn(at: 0).message)
        #expect(try deliver(message, false, at: 9).error == .codeNotSent)
        #expect(try verify(message, at: 10).text == "OTP expired")
        #expect(try executor.count("code_sends") == 0, "it does not count")
        _ = try send(at: 10)
        #expect(counts() == [.failed: 1, .expired: 1, .sent: 1])
    }

    /// Otherwise an adapter that is out of order would give tries without end.
    @Test func aCodeThatWasTriedCountsEvenIfItCouldNotBeSent() throws {
        let first = try send(at: 0)
        let again = try #require(try commit(ResendSignInCode(sessionID: first.sessionID), at: 60).message)
        #expect(again.isResent && again.sessionID == first.sessionID && again.sendID != first.sendID)
        _ = try verify(again, wrong(again), at: 61)
        #expect(try deliver(again, false, at: 62).error == .codeNotSent)
        #expect(try executor.count("code_sends") == 2)
    }

    @Test func anSMSThatMayHaveBeenSentCounts() throws {
        let message = try #require(try logIn(at: 0).message)
        let delivery = SignInCodeSMS(
            sessionID: message.sessionID, sendID: message.sendID, isResent: false, isSent: false, mayBeSent: true)
        #expect(try commit(RecordSignInSMS(delivery), at: 9).error == .codeNotSent)
        #expect(try executor.count("code_sends") == 1)
    }

    @Test func aCodeMayArriveBeforeItsOutcomeIsStored() throws {
        let message = try #require(try logIn(at: 0).message)
        #expect(try verify(message, at: 1).status == 200)
        #expect(try deliver(message, at: 2).status == 200)
        #expect(try verify(message, at: 3).text.contains("token-10000"), "the answer is still stored")
    }

    /// After kill -9 nobody knows whether the SMS was sent.
    @Test func aSessionThatWasBeingSentBlocksNothing() throws {
        let message = try #require(try logIn(at: 0).message)
        #expect(try executor.recoverCodes() == 1)
        #expect(try executor.recoverCodes() == 0)
        let other = try #require(try logIn(at: 1).message, "the phone is not blocked")
        #expect(other.sessionID != message.sessionID)
        #expect(try verify(message, at: 2).status == 200, "the SMS may have arrived")
    }

    @Test func resendingMakesANewCodeWithNewTries() throws {
        let first = try send(at: 0)
        _ = try verify(first, wrong(first), at: 1)
        let early = try #require(try commit(ResendSignInCode(sessionID: first.sessionID), at: 20).error)
        #expect(early.status == 429 && early.retryAfterSeconds == 40 && early.figures == [.init("cooldown_remaining", 40)])
        let second = try #require(try commit(ResendSignInCode(sessionID: first.sessionID), at: 60).message)
        let reply = try deliver(second, at: 61)
        #expect(reply.text.contains(#""message":"OTP resent successfully""#) && reply.text.contains("New OTP sent"))
        if first.code != second.code { #expect(try verify(first, at: 62).error?.figures.first?.value == 4) }
        #expect(try verify(second, at: 62).status == 200)
        #expect(try commit(ResendSignInCode(sessionID: first.sessionID), at: 200).status == 400, "it is over")
        #expect(try commit(ResendSignInCode(sessionID: "temp_?"), at: 200).status == 400)
    }

    @Test func theCooldownIsThatOfThePhone() throws {
        let first = try send(at: 0)
        _ = try send(at: 60)
        #expect(try commit(ResendSignInCode(sessionID: first.sessionID), at: 61).error?.retryAfterSeconds == 59)
    }

    // MARK: Limits

    @Test func fiveCodesInAnHourAndTenInADay() throws {
        for minute in 0..<5 { _ = try send(at: Double(minute) * 60) }
        #expect(try logIn(at: 300).error == RuleError(.tooManyRequests, retryAfterSeconds: 3_300))
        for minute in 60..<65 { _ = try send(at: Double(minute) * 60) }
        #expect(try logIn(at: 7_500).error?.retryAfterSeconds == 86_400 - 7_500)
        #expect(counts() == [.sent: 10, .limited: 2])
    }

    /// The tries of codes at the end of one hour and at the beginning of the next do not add up.
    @Test func atMost25TriesInAnyHour() throws {
        var tries: [Double] = []
        func tryWrongly(_ message: SignInCodeMessage, at seconds: Double) throws {
            for _ in 0..<5 {
                let before = try executor.count("code_tries")
                _ = try verify(message, wrong(message), at: seconds)
                if try executor.count("code_tries") > before { tries.append(seconds) }
            }
        }
        let messages = try (0..<5).map { try send(at: Double($0) * 60) }
        for message in messages { try tryWrongly(message, at: 299) }
        #expect(tries.count == 25)
        let next = try send(at: 3_600)
        try tryWrongly(next, at: 3_601)
        #expect(tries.count == 25, "the hour is not over")
        #expect(try verify(next, at: 3_602).text == "Too many wrong attempts. Please request a new code")
        try tryWrongly(try send(at: 3_840), at: 3_899)
        #expect(tries.count == 30)
    }

    @Test func aJumpOfTheClockLiftsNoLimit() throws {
        for minute in 0..<5 { _ = try send(at: Double(minute) * 60) }
        executor.clockLead = 86_400_000  // The wall clock has jumped forward by a day.
        #expect(try logIn(at: 86_400 + 300).error?.status == 429)
    }

    // MARK: Verification

    @Test func theWholeAnswer() throws {
        let reply = try verify(try send(at: 0), at: 12)
        #expect(
            reply.text
                == #"{"success":true,"message":"OTP verified successfully","data":{"user":{"id":10000,"#
                + #""phone":"+11234567890","role":1,"is_profile_completed":false,"last_login_at":"2026-11-21T12:00:12Z","#
                + #""created_from":"mobile_app","customer_registration_state":{"current_step":"basic_details","#
                + #""progress_percentage":25,"is_completed":false,"next_step":"credit_card","steps":{"phone_verified":true,"#
                + #""basic_details":false,"credit_card":false,"profile_complete":false},"#
                + #""completed_steps":["phone_verified"],"total_steps":4,"completed_count":1}},"token":"token-10000","#
                + #""token_type":"Bearer","expires_in":3600,"action":"navigate_to_basic_info","#
                + #""driver_registration_state":null},"timestamp":"2026-11-21T12:00:12Z","code":200}"#)
        #expect(executor.drainCodeCounts().verifySeconds == [12])
    }

    @Test func aRepetitionGetsTheSameAnswerForAMinute() throws {
        let message = try send(at: 0)
        let first = try verify(message, at: 10)
        #expect(try verify(message, at: 69).body == first.body)
        #expect(try executor.count("customers") == 1)
        #expect(try verify(message, wrong(message), at: 69).status == 400)
        #expect(try verify(message, at: 70).text == "Invalid or expired session. Please log in again")
        #expect(try logIn(at: 71).message != nil, "a session that is over has no cooldown")
    }

    /// The key that encrypts was replaced between the SMS and the sign-in.
    @Test func aRepetitionGetsTheSameAnswerAfterAChangeOfKeys() throws {
        let other = TemporaryStore()
        func makeExecutor(_ keys: DeviceKeys) throws -> CommandExecutor {
            try other.executor {
                $0.keys = keys
                $0.codes.sign = { _ in "a token" }
            }
        }
        let message = try #require(
            try commit(SendSignInCode(try number(Self.phone)), at: 0, on: makeExecutor(testKeys("k1"))).message)
        let rotated = try makeExecutor(testKeys("k2", "k1"))
        _ = try commit(RecordSignInSMS(message.result(isSent: true)), at: 0, on: rotated)
        let request = VerifySignInCode(sessionID: message.sessionID, code: message.code)
        let first = try commit(request, at: 1, on: rotated)
        let second = try commit(request, at: 2, on: rotated)
        #expect(first.status == 200 && second.status == 200 && first.body == second.body)
    }

    /// Otherwise wrong codes would make the next SMS come sooner, and use up the phone's codes.
    @Test func wrongCodesDoNotEndTheCooldown() throws {
        let message = try send(at: 0)
        for _ in 1...5 { _ = try verify(message, wrong(message), at: 1) }
        let again = try logIn(at: 59)
        #expect(again.status == 200 && again.message == nil)
        #expect(try logIn(at: 60).message != nil)
    }

    /// The login waits for the SMS of the resend, and gets the words of a login.
    @Test func aLoginThatWaitsForAResendGetsItsOwnAnswer() throws {
        let first = try send(at: 0)
        let resent = try #require(try commit(ResendSignInCode(sessionID: first.sessionID), at: 61).message)
        #expect(try logIn(at: 62).deferred?.token == first.sessionID)
        let outcome = try #require(try deliver(resent, at: 63).result)
        #expect(String(decoding: outcome.body, as: UTF8.self).contains("OTP resent successfully"))
        #expect(String(decoding: outcome.forRepetition.body, as: UTF8.self).contains("OTP sent successfully"))
    }

    @Test func aClockThatIsSetBackBlocksNoPhone() throws {
        for number in 0..<5 { _ = try send(at: 3_600 + Double(number) * 61) }
        #expect(try logIn(at: 3_600 + 5 * 61).error?.kind == .limited)
        #expect(try logIn(at: 0).message != nil, "an hour earlier")
    }

    @Test func theFifthWrongCodeEndsTheCode() throws {
        let message = try send(at: 0)
        for left in [4, 3, 2, 1] {
            #expect(
                try verify(message, wrong(message), at: 1).error
                    == RuleError(.wrongDigits, figures: [.init("attempts_remaining", left)]))
        }
        for code in [wrong(message), message.code] {
            #expect(try verify(message, code, at: 2).text == "Too many wrong attempts. Please request a new code")
        }
        #expect(counts() == [.sent: 1, .wrong: 6])
    }

    @Test func nothingIsStoredInClear() throws {
        let message = try send(at: 0)
        func everything() throws -> String {
            let tables = try executor.database.tableNames()
            return try tables.flatMap { try executor.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
        }
        #expect(try !everything().contains(message.code))
        _ = try verify(message, at: 1)
        #expect(try !everything().contains("token-10000"), "the stored answer is encrypted")
        let row = try #require(try executor.signIns.session(id: message.sessionID))
        let digests = executor.signInDigests
        let covered = SignInCodeSecrets.message(message.code, message.sessionID)
        #expect(digests.verifies(covered, row.digest, keyID: "k1") && !digests.verifies(covered, row.digest, keyID: "gone"))
        #expect(!digests.verifies(SignInCodeSecrets.message(message.code, "temp_other"), row.digest, keyID: "k1"))
        let others = KeyedDigests(testKeys("k2"), purpose: "one-time codes")
        #expect(!others.verifies(covered, row.digest, keyID: "k2"))
        #expect(!KeyedDigests(testKeys("k1"), purpose: "delivery codes").verifies(covered, row.digest, keyID: "k1"))
    }

    @Test func idsAreNeverReused() throws {
        let (first, _) = try signIn(at: 0)
        #expect(first.id == "10000")
        _ = try executor.commit(command(Erase(.customer, id: "10000")), at: noon)
        #expect(try signIn("+15550001111", at: 10).0.id == "10001")
        #expect(try signIn(at: 20).0.id == "10002", "the same phone is a new customer")
    }

    /// Another issuer's customer may have an order or a device already.
    @Test func idsInUseAreLeftOut() throws {
        var action = OrderAction(code: "A", .update)
        action.changes.customerID = .set("10000")
        _ = try executor.commit(command(action))
        _ = try executor.commit(register(fcm("a"), by: Identity(role: .customer, id: "10001")))
        #expect(try signIn(at: 0).0.id == "10002")
    }
}

extension CommandReply {
    var message: SignInCodeMessage? {
        deferred?.effects.lazy.compactMap { if case .codeToSend(let message) = $0 { message } else { nil } }.first
    }
}
