import Access
import FleetRules
import JSON
import OneTimeCodes
import Primitives
import Testing
import Threads

@testable import Store

/// Sign-in by code, as the writer executes it. Times are seconds since ``noon``.
@Suite struct CodeTests {
    private let store = TemporaryStore()
    private let executor: CommandExecutor
    /// What was signed into the last token.
    private let signed = Lock<CustomerTokenClaims?>(nil)
    private static let phone = "+11234567890"
    private static let nobody = Identity(role: .customer, id: "")

    init() throws {
        let signed = signed
        executor = try store.executor {
            $0.codes.limits = CodeLimits(dailyMax: 12)
            $0.codes.sign = { claims in
                signed.withLock { $0 = claims }
                return "token-\(claims.customer.id)"
            }
        }
    }

    // MARK: Requests

    private func commit(
        _ request: CodeCommand, at seconds: Double, by actor: Identity = nobody, on other: CommandExecutor? = nil
    ) throws -> CommandReply {
        try (other ?? executor).commit(command(.code(request), by: actor), at: noon + Int64(seconds * 1_000))
    }

    private func number(_ phone: String) throws -> PhoneNumber {
        var form = LoginForm()
        form.callingCode = .value(String(phone.prefix(2)))
        form.country = .value("us")
        form.phone = .value(String(phone.dropFirst(2)))
        form.userType = .value("customer")
        return try form.number(countries: [])
    }

    private func logIn(_ phone: String = phone, at seconds: Double) throws -> CommandReply {
        try commit(.login(try number(phone)), at: seconds)
    }

    /// Asks for a code whose SMS is sent at once.
    private func send(_ phone: String = phone, at seconds: Double) throws -> CodeMessage {
        let message = try #require(try logIn(phone, at: seconds).message, "no SMS")
        #expect(try deliver(message, at: seconds).status == 200)
        return message
    }

    private func deliver(_ message: CodeMessage, _ isSent: Bool = true, at seconds: Double) throws -> CommandReply {
        try commit(.delivered(message.delivery(isSent: isSent)), at: seconds)
    }

    private func verify(_ message: CodeMessage, _ code: String? = nil, at seconds: Double) throws -> CommandReply {
        try commit(.verify(sessionID: message.sessionID, code: code ?? message.code), at: seconds)
    }

    /// Another code than that of a message.
    private func wrong(_ message: CodeMessage) -> String { message.code == "000000" ? "000001" : "000000" }

    private func counts() -> [CodeOutcome: Int] { executor.drainCodeCounts().outcomes }

    /// The customer of the last token, and its sign-in.
    private func signIn(_ phone: String = phone, at seconds: Double) throws -> (Identity, TokenSession) {
        _ = try verify(try send(phone, at: seconds), at: seconds + 1)
        let claims = try #require(signed.withLock { $0 })
        let session = try #require(TokenSession(jti: claims.id, expiresAt: claims.issuedAt + 3_600))
        return (claims.identity, session)
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
        #expect(second.message == nil && second.result?.codes.awaited == message.sessionID)
        _ = try deliver(message, at: 2)
        let third = try logIn(at: 32)
        #expect(third.message == nil && third.result?.codes.awaited == nil)
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
        let again = try #require(try commit(.resend(sessionID: first.sessionID), at: 60).message)
        #expect(again.isResent && again.sessionID == first.sessionID && again.sendID != first.sendID)
        _ = try verify(again, wrong(again), at: 61)
        #expect(try deliver(again, false, at: 62).error == .codeNotSent)
        #expect(try executor.count("code_sends") == 2)
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
        let early = try #require(try commit(.resend(sessionID: first.sessionID), at: 20).error)
        #expect(early.status == 429 && early.retryAfterSeconds == 40 && early.figures == [.init("cooldown_remaining", 40)])
        let second = try #require(try commit(.resend(sessionID: first.sessionID), at: 60).message)
        let reply = try deliver(second, at: 61)
        #expect(reply.text.contains(#""message":"OTP resent successfully""#) && reply.text.contains("New OTP sent"))
        if first.code != second.code { #expect(try verify(first, at: 62).error?.figures.first?.value == 4) }
        #expect(try verify(second, at: 62).status == 200)
        #expect(try commit(.resend(sessionID: first.sessionID), at: 200).status == 400, "it is over")
        #expect(try commit(.resend(sessionID: "temp_?"), at: 200).status == 400)
    }

    @Test func theCooldownIsThatOfThePhone() throws {
        let first = try send(at: 0)
        _ = try send(at: 60)
        #expect(try commit(.resend(sessionID: first.sessionID), at: 61).error?.retryAfterSeconds == 59)
    }

    // MARK: Limits

    @Test func fiveCodesInAnHourAndTenInADay() throws {
        for minute in 0..<5 { _ = try send(at: Double(minute) * 60) }
        #expect(try logIn(at: 300).error == RuleError(.limited, "Too many requests", retryAfterSeconds: 3_300))
        for minute in 60..<65 { _ = try send(at: Double(minute) * 60) }
        #expect(try logIn(at: 7_500).error?.retryAfterSeconds == 86_400 - 7_500)
        #expect(counts() == [.sent: 10, .limited: 2])
    }

    @Test func theDailyMaximumHoldsOverAllPhonesAndRestarts() throws {
        let store = TemporaryStore()
        let restart = { try store.executor { $0.codes.limits = CodeLimits(dailyMax: 3) } }
        for seconds in 0..<3 {
            let login = CodeCommand.login(try number("+1555000\(1000 + seconds)"))
            #expect(try commit(login, at: Double(seconds), on: try restart()).message != nil)
        }
        let login = CodeCommand.login(try number(Self.phone))
        do {
            let executor = try restart()
            let refusal = try commit(login, at: 100, on: executor).error
            #expect(refusal?.status == 503 && refusal?.retryAfterSeconds == 3_600)
            #expect(executor.codeCounts.hasReachedDailyMax)
        }
        #expect(try commit(login, at: 86_400, on: try restart()).message != nil)
    }

    /// The tries of codes at the end of one hour and at the beginning of the next do not add up.
    @Test func atMost25TriesInAnyHour() throws {
        var tries: [Double] = []
        func tryWrongly(_ message: CodeMessage, at seconds: Double) throws {
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
        executor.clockLead = 0
        #expect(try logIn(at: -7_200).error?.status == 429, "the clock was set back")
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

    @Test func theFifthWrongCodeEndsTheCode() throws {
        let message = try send(at: 0)
        for left in [4, 3, 2, 1] {
            #expect(
                try verify(message, wrong(message), at: 1).error
                    == RuleError(.invalid, "Invalid OTP", figures: [.init("attempts_remaining", left)]))
        }
        for code in [wrong(message), message.code] {
            #expect(try verify(message, code, at: 2).text == "Too many wrong attempts. Please request a new code")
        }
        #expect(counts() == [.sent: 1, .wrong: 6])
    }

    @Test func nothingIsStoredInClear() throws {
        let message = try send(at: 0)
        func everything() throws -> String {
            let tables = try executor.database.dump("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            return try tables.flatMap { try executor.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
        }
        #expect(try !everything().contains(message.code))
        _ = try verify(message, at: 1)
        #expect(try !everything().contains("token-10000"), "the stored answer is encrypted")
        let row = try #require(try executor.signIns.session(id: message.sessionID))
        let keys = testKeys("k1")
        #expect(keys.verifies(code: message.code, sessionID: message.sessionID, digest: row.digest, keyID: "k1"))
        #expect(!keys.verifies(code: message.code, sessionID: "temp_other", digest: row.digest, keyID: "k1"))
        #expect(!keys.verifies(code: message.code, sessionID: message.sessionID, digest: row.digest, keyID: "gone"))
        #expect(!testKeys("k2").verifies(code: message.code, sessionID: message.sessionID, digest: row.digest, keyID: "k2"))
    }

    @Test func idsAreNeverReused() throws {
        let (first, _) = try signIn(at: 0)
        #expect(first.id == "10000")
        _ = try executor.commit(command(.erase(.customer, id: "10000")), at: noon)
        #expect(try signIn("+15550001111", at: 10).0.id == "10001")
        #expect(try signIn(at: 20).0.id == "10002", "the same phone is a new customer")
    }

    /// Another issuer's customer may have an order or a device already.
    @Test func idsInUseAreLeftOut() throws {
        var action = OrderAction(code: "A", .update)
        action.changes.customerID = .set("10000")
        _ = try executor.commit(command(.order(action)))
        _ = try executor.commit(register(fcm("a"), by: Identity(role: .customer, id: "10001")))
        #expect(try signIn(at: 0).0.id == "10002")
    }

    // MARK: Tokens

    @Test func aTokenNamesTheOpenOrders() throws {
        let (customer, session) = try signIn(at: 0)
        for (code, reference, kind) in [
            ("A", "R-1", OrderAction.Kind.update), ("B", "R-2", .cancel), ("C", "R-3", .update), ("D", "R-3", .update),
        ] {
            var action = OrderAction(code: code, kind)
            action.changes.customerID = .set(customer.id)
            action.changes.bookingReference = .set(reference)
            _ = try executor.commit(command(.order(action)))
        }
        let reply = try commit(.refresh(session), at: 100, by: customer)
        #expect(
            reply.text
                == #"{"success":true,"message":"Token refreshed","data":{"token":"token-10000","token_type":"Bearer","#
                + #""expires_in":3600},"timestamp":"2026-11-21T12:01:40Z","code":200}"#)
        let claims = try #require(signed.withLock { $0 })
        #expect(Set(claims.bookings) == ["R-1", "R-3"] && claims.bookings.count == 2 && claims.issuedAt == noon / 1_000 + 100)
        #expect(TokenSession(jti: claims.id, expiresAt: 0)?.id == session.id, "the sign-in stays the same")
    }

    @Test func aTokenHasRoomInTheHeadOfARequest() throws {
        let (customer, session) = try signIn(at: 0)
        for number in 0..<60 {
            var action = OrderAction(code: "A\(number)", .update)
            action.changes.customerID = .set(customer.id)
            action.changes.bookingReference = .set(String(repeating: "r", count: 140) + "\(number)")
            _ = try executor.commit(command(.order(action)))
        }
        _ = try commit(.refresh(session), at: 100, by: customer)
        let claims = try #require(signed.withLock { $0 })
        #expect((15...25).contains(claims.bookings.count))
    }

    @Test func signingOutEndsTheSignIn() throws {
        let (customer, session) = try signIn(at: 0)
        let reply = try commit(.endSession(session), at: 5, by: customer)
        #expect(
            reply.text
                == #"{"success":true,"message":"Signed out","data":{},"timestamp":"2026-11-21T12:00:05Z","code":200}"#)
        let until = noon + (5 + 3_600 + 30 * 86_400 + 60) * 1_000
        #expect(reply.result?.codes.ended == EndedTokens(key: session.id, until: until))
        #expect(try commit(.refresh(session), at: 6, by: customer).error?.status == 401)
        #expect(try commit(.endSession(session), at: 6, by: customer).error?.status == 401)
        var restored: [EndedTokens] = []
        try executor.eachEndedTokens { restored.append($0) }
        #expect(restored == [EndedTokens(key: session.id, until: until)])
        #expect(try executor.endedTokens.deleteExpired(now: until - 1, most: 9) == 0)
        #expect(try executor.endedTokens.deleteExpired(now: until, most: 9) == 1)
    }

    @Test func otherIssuersCustomersHaveNoAccount() throws {
        let session = try #require(TokenSession(jti: String(repeating: "a", count: 32), expiresAt: noon / 1_000))
        for id in ["7", "ann", "010000"] {
            let other = Identity(role: .customer, id: id)
            #expect(try commit(.endSession(session), at: 0, by: other).status == 403)
            #expect(try commit(.refresh(session), at: 0, by: other).status == 401)
        }
        #expect(try executor.database.dump("SELECT * FROM ended_tokens") == [])
    }

    // MARK: Registration

    private func details(_ email: String, _ name: String = "Ann") throws -> BasicDetails {
        try BasicDetails(name: .value(name), email: .value(email))
    }

    private let payment = PaymentMethod(token: "tok_1", brand: "visa", last4: "4242", expiryMonth: 1, expiryYear: 2030)

    @Test func theStepsFollowEachOther() throws {
        let (customer, session) = try signIn(at: 0)
        #expect(try commit(.savePayment(session, payment), at: 1, by: customer).text == "Complete the previous step first")
        let saved = try commit(.saveDetails(session, try details("A@b.example")), at: 2, by: customer)
        #expect(saved.text.hasPrefix(#"{"success":true,"message":"Basic details saved","data":{"customer_registration_state":{"#))
        #expect(saved.text.contains(#""current_step":"credit_card","progress_percentage":50"#))
        let paid = try commit(.savePayment(session, payment), at: 3, by: customer)
        #expect(paid.text.contains(#""message":"Payment method saved""#))
        #expect(
            paid.text.contains(#""current_step":null,"progress_percentage":100,"is_completed":true,"next_step":null"#))
        let stored = try #require(try executor.customers.customer(id: 10_000))
        #expect(stored.name == "Ann" && stored.email == "A@b.example" && stored.payment == payment)
        _ = try commit(.saveDetails(session, try details("new@b.example", "Bea")), at: 4, by: customer)
        #expect(try executor.customers.customer(id: 10_000)?.name == "Bea", "a repetition updates")
        #expect(
            try executor.database.dump(
                "SELECT actor, action, status_before, status_after, details FROM audit WHERE account_id = '10000' ORDER BY id")
                == [
                    "customer:10000|account_created|-|basic_details|-",
                    "customer:10000|sign_in|-|basic_details|-",
                    "customer:10000|basic_details|basic_details|credit_card|-",
                    "customer:10000|payment_method|credit_card|profile_complete|-",
                    "customer:10000|basic_details|profile_complete|profile_complete|-",
                ])
    }

    @Test func anEmailAddressBelongsToOneAccount() throws {
        let (first, session) = try signIn(at: 0)
        let (second, other) = try signIn("+15550001111", at: 2)
        _ = try commit(.saveDetails(session, try details("ann@b.example")), at: 3, by: first)
        #expect(try commit(.saveDetails(other, try details("ANN@B.example")), at: 4, by: second).text == "Email already in use")
        #expect(try commit(.saveDetails(session, try details("Ann@b.example")), at: 5, by: first).status == 200)
        _ = try signIn(at: 100)
        #expect(try commit(.saveDetails(other, try details("ann@b.example")), at: 104, by: second).status == 409)
        _ = try commit(.saveDetails(session, try details("free@b.example")), at: 105, by: first)
        #expect(try commit(.saveDetails(other, try details("ann@b.example")), at: 106, by: second).status == 200)
    }

    // MARK: End

    @Test func erasureEndsTheAccountAndItsSignIns() throws {
        let (customer, session) = try signIn(at: 0)
        _ = try commit(.saveDetails(session, try details("ann@b.example", "Zoe Quill")), at: 2, by: customer)
        let pending = try send(at: 3)
        let reply = try executor.commit(command(.erase(.customer, id: customer.id)), at: noon + 5_000)
        #expect(reply.status == 200 && reply.result?.codes.ended?.key == "customer:10000")
        let everything = try executor.database.dump("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'erasures'")
            .flatMap { try executor.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
        for text in [Self.phone, "Zoe", "ann@b.example"] { #expect(!everything.contains(text), "\(text)") }
        #expect(try executor.count("code_sends") == 2, "they still count for all phones")
        #expect(try verify(pending, at: 6).status == 400)
        for request in [CodeCommand.refresh(session), .endSession(session), .saveDetails(session, try details("a@b.cc"))] {
            #expect(try commit(request, at: 7, by: customer).error?.status == 401)
        }
        #expect(try executor.commit(command(.erase(.customer, id: "ann"))).result?.codes.ended == nil)
    }

    @Test func retentionDeletesWhatMattersNoMore() throws {
        let message = try send(at: 0)
        _ = try verify(message, wrong(message), at: 1)
        let other = try send("+15550001111", at: 2)
        _ = try verify(other, at: 3)
        func left(at seconds: Double) throws -> [Int] {
            var removed: [RemovedDevice] = []
            _ = try executor.deleteExpired(
                .codes, now: noon + Int64(seconds * 1_000), lifetime: 30 * day, limit: 100, &removed)
            return try [executor.count("code_sessions"), executor.count("code_sends"), executor.count("code_tries")]
        }
        #expect(try left(at: 62) == [2, 2, 1])
        #expect(try left(at: 63) == [1, 2, 1], "the answer with the token goes first")
        #expect(try left(at: 3_899) == [1, 2, 1])
        #expect(try left(at: 3_900) == [0, 2, 1])
        #expect(try left(at: 86_400) == [0, 1, 1])
        #expect(try left(at: 86_402) == [0, 0, 0])
        #expect(try executor.count("customers") == 1)
    }
}

extension CommandReply {
    fileprivate var message: CodeMessage? { result?.codes.message }
}
