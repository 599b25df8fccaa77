import Access
import Testing

@testable import Fleet

/// Tokens, registration and the end of accounts.
extension SignInCodeTests {
    // MARK: Tokens

    @Test func aTokenNamesTheOpenOrders() throws {
        let (customer, session) = try signIn(at: 0)
        for (code, reference, kind) in [
            ("A", "R-1", OrderAction.Kind.update), ("B", "R-2", .cancel), ("C", "R-3", .update), ("D", "R-3", .update),
        ] {
            var action = OrderAction(code: code, kind)
            action.changes.customerID = .set(customer.id)
            action.changes.bookingReference = .set(reference)
            _ = try executor.commit(command(action))
        }
        let reply = try commit(RefreshToken(session), at: 100, by: customer)
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
            _ = try executor.commit(command(action))
        }
        _ = try commit(RefreshToken(session), at: 100, by: customer)
        let claims = try #require(signed.withLock { $0 })
        #expect((15...25).contains(claims.bookings.count))
    }

    @Test func signingOutEndsTheSignIn() throws {
        let (customer, session) = try signIn(at: 0)
        let reply = try commit(EndSession(session), at: 5, by: customer)
        #expect(
            reply.text
                == #"{"success":true,"message":"Signed out","data":{},"timestamp":"2026-11-21T12:00:05Z","code":200}"#)
        let until = noon + (5 + 3_600 + 30 * 86_400 + 60) * 1_000
        #expect(reply.result?.ended == EndedTokens(key: session.id, until: until))
        #expect(try commit(RefreshToken(session), at: 6, by: customer).error?.status == 401)
        #expect(try commit(EndSession(session), at: 6, by: customer).error?.status == 401)
        var restored: [EndedTokens] = []
        try executor.eachEndedTokens { restored.append($0) }
        #expect(restored == [EndedTokens(key: session.id, until: until)])
        #expect(try executor.endedTokens.deleteExpired(now: until - 1, most: 9) == 0)
        #expect(try executor.endedTokens.deleteExpired(now: until, most: 9) == 1)
    }

    /// The token was verified before the sign-in ended.
    @Test func aCommandOfAnEndedSignInIsRejected() throws {
        let (customer, session) = try signIn(at: 0)
        let device = register(fcm("a"), by: customer)
        #expect(try executor.commit(device, at: noon + 3_000).error == nil)
        _ = try commit(EndSession(session), at: 5, by: customer)
        #expect(try executor.commit(register(fcm("b"), by: customer), at: noon + 6_000).error?.status == 401)
        #expect(try executor.count("devices") == 1)
    }

    @Test func otherIssuersCustomersHaveNoAccount() throws {
        let session = try #require(TokenSession(jti: String(repeating: "a", count: 32), expiresAt: noon / 1_000))
        for id in ["7", "ann", "010000"] {
            let other = Identity(role: .customer, id: id)
            #expect(try commit(EndSession(session), at: 0, by: other).status == 403)
            #expect(try commit(RefreshToken(session), at: 0, by: other).status == 401)
        }
        #expect(try executor.database.dump("SELECT * FROM ended_tokens") == [])
    }

    // MARK: Registration

    func details(_ email: String, _ name: String = "Ann") throws -> BasicDetails {
        try BasicDetails(name: .value(name), email: .value(email))
    }

    private var payment: PaymentMethod {
        PaymentMethod(token: "tok_1", brand: "visa", last4: "4242", expiryMonth: 1, expiryYear: 2030)
    }

    @Test func theStepsFollowEachOther() throws {
        let (customer, _) = try signIn(at: 0)
        #expect(try commit(SavePaymentMethod(payment), at: 1, by: customer).text == "Complete the previous step first")
        let saved = try commit(SaveBasicDetails(try details("A@b.example")), at: 2, by: customer)
        #expect(saved.text.hasPrefix(#"{"success":true,"message":"Basic details saved","data":{"customer_registration_state":{"#))
        #expect(saved.text.contains(#""current_step":"credit_card","progress_percentage":50"#))
        let paid = try commit(SavePaymentMethod(payment), at: 3, by: customer)
        #expect(paid.text.contains(#""message":"Payment method saved""#))
        #expect(
            paid.text.contains(#""current_step":null,"progress_percentage":100,"is_completed":true,"next_step":null"#))
        let stored = try #require(try executor.customers.customer(id: 10_000))
        #expect(stored.name == "Ann" && stored.email == "A@b.example" && stored.payment == payment)
        _ = try commit(SaveBasicDetails(try details("new@b.example", "Bea")), at: 4, by: customer)
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
        let (first, _) = try signIn(at: 0)
        let (second, _) = try signIn("+15550001111", at: 2)
        _ = try commit(SaveBasicDetails(try details("ann@b.example")), at: 3, by: first)
        #expect(try commit(SaveBasicDetails(try details("ANN@B.example")), at: 4, by: second).text == "Email already in use")
        #expect(try commit(SaveBasicDetails(try details("Ann@b.example")), at: 5, by: first).status == 200)
        _ = try signIn(at: 100)
        #expect(try commit(SaveBasicDetails(try details("ann@b.example")), at: 104, by: second).status == 409)
        _ = try commit(SaveBasicDetails(try details("free@b.example")), at: 105, by: first)
        #expect(try commit(SaveBasicDetails(try details("ann@b.example")), at: 106, by: second).status == 200)
    }

    // MARK: End

    @Test func erasureEndsTheAccountAndItsSignIns() throws {
        let (customer, session) = try signIn(at: 0, from: "192.0.2.1")
        #expect(try executor.count("own_addresses") == 1)
        _ = try commit(SaveBasicDetails(try details("ann@b.example", "Zoe Quill")), at: 2, by: customer)
        let pending = try send(at: 3)
        let reply = try executor.commit(command(Erase(.customer, id: customer.id)), at: noon + 5_000)
        #expect(reply.status == 200 && reply.result?.ended?.key == "customer:10000")
        let everything = try executor.database.tableNames().filter { $0 != "erasures" }
            .flatMap { try executor.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
        for text in [Self.phone, "Zoe", "ann@b.example"] { #expect(!everything.contains(text), "\(text)") }
        #expect(try executor.codeCounters.counts(of: [.all], now: noon) == [.all: 2], "they still count for all phones")
        #expect(try verify(pending, at: 6).status == 400)
        for request in [RefreshToken(session), EndSession(session), SaveBasicDetails(try details("a@b.cc"))] as [any Command] {
            #expect(try commit(request, at: 7, by: customer).error?.status == 401)
        }
        #expect(try executor.commit(command(Erase(.customer, id: "ann"))).result?.ended == nil)
    }

    /// The token of another issuer may name its customer `010000`, who is not the one of account 10000.
    @Test(arguments: ["010000", "+10000", "-10000", "10000 "]) func anotherSpellingIsAnotherCustomer(id: String) throws {
        let (customer, _) = try signIn(at: 0)
        #expect(customer.id == "10000")
        #expect(try executor.commit(command(Erase(.customer, id: id)), at: noon + 1_000).result?.ended == nil)
        #expect(try commit(SaveBasicDetails(try details("ann@b.example", "Zoe Quill")), at: 2, by: customer).status == 200)
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
