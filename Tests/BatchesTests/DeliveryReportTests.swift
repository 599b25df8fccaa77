import Primitives
import Testing

@testable import Fleet

@Suite struct DeliveryReportTests {
    private typealias Fixture = BatchFixture

    /// The reports are the columns: allowed, the refusal's HTTP status, or `again` for the driver that reported it.
    private static let table = """
        status        EN_ROUTE  ARRIVED  DELIVERED  FAILED
        ASSIGNED      400       400      400        400
        ACKNOWLEDGED  400       400      400        400
        PICKED_UP     yes       yes      yes        yes
        EN_ROUTE      again     yes      yes        yes
        ARRIVED       400       again    yes        yes
        DELIVERED     400       400      again      400
        FAILED        400       400      400        again
        RETURNED      400       400      400        400
        CANCELLED     409       409      409        409
        """

    private static let rows = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }

    private func batch(_ status: AssignmentStatus, reportedBy account: ObjectID?) throws -> Batch {
        var batch = try Fixture.batch(status == .assigned || status == .acknowledged ? .dispatched : .inProgress)
        if status == .cancelled {
            try batch.perform(.cancelOrder(Fixture.orderA, by: .admin, reason: nil))
        } else {
            batch.orders[0].assignment?.status = status
            batch.orders[0].assignment?.reportedBy = account
        }
        return batch
    }

    private func outcome(_ status: ReportedStatus) -> DeliveryReport.Outcome {
        switch status {
        case .enRoute: .enRoute
        case .arrived: .arrived
        case .delivered: .delivered(Fixture.photo)
        case .failed: .failed(.other)
        }
    }

    @Test(arguments: rows.dropFirst()) func eachStatusAllowsItsReports(_ row: [String]) throws {
        let status = try #require(AssignmentStatus(rawValue: row[0]))
        for (word, expected) in zip(Self.rows[0], row).dropFirst() {
            let reported = try #require(ReportedStatus(rawValue: word))
            let action = Fixture.step(outcome(reported), Fixture.orderA)
            #expect(status.allows(reported) == (expected == "yes"), "\(word) after \(status)")
            // Of another driver, before a reassignment: the present driver does not repeat it.
            for account in [Fixture.driver.accountID, Fixture.other.accountID, nil] {
                var batch = try batch(status, reportedBy: account)
                let answer: String
                do {
                    answer = try batch.perform(action).isRepetition ? "again" : "yes"
                } catch let error as RuleError {
                    answer = String(error.status)
                }
                let isRepeated = expected == "again" && account != Fixture.driver.accountID
                #expect(answer == (isRepeated ? "400" : expected), "\(word) after \(status)")
                if answer == "yes" {
                    #expect(batch.order(Fixture.orderA)?.assignment?.status.rawValue == word)
                    #expect(batch.order(Fixture.orderA)?.statusWord == word)
                }
            }
        }
    }

    @Test func theTableIsComplete() {
        #expect(Self.rows.dropFirst().map { $0[0] } == AssignmentStatus.allCases.map(\.rawValue))
        #expect(Array(Self.rows[0].dropFirst()) == ReportedStatus.allCases.map(\.rawValue))
    }

    // MARK: The body

    private func fields(_ status: String, _ change: (inout DeliveryReportFields) -> Void = { _ in }) -> DeliveryReportFields {
        var fields = DeliveryReportFields()
        fields.status = .value(status)
        change(&fields)
        return fields
    }

    private func wrong(_ fields: DeliveryReportFields) -> [String] {
        do {
            _ = try DeliveryReport(fields)
            return []
        } catch {
            return error.status == 400 ? error.fields.map { "\($0.path): \($0.text)" } : ["status \(error.status)"]
        }
    }

    private func proof(
        type: String, otp: SentField<String> = .absent, signature: SentField<String> = .absent,
        photo: SentField<String> = .absent
    ) -> DeliveryReportFields {
        var proof = ProofFields()
        (proof.type, proof.otp, proof.signatureURL, proof.photoURL) = (.value(type), otp, signature, photo)
        return fields("DELIVERED") { $0.proofOfDelivery = .value(proof) }
    }

    @Test func readsRightBodies() throws {
        #expect(try DeliveryReport(fields("EN_ROUTE")) == DeliveryReport(.enRoute))
        #expect(try DeliveryReport(fields("ARRIVED") { $0.notes = .value("at") }) == DeliveryReport(.arrived, notes: "at"))
        let otp = try DeliveryReport(proof(type: "OTP", otp: .value("0042")))
        #expect(otp == DeliveryReport(.delivered(.otp("0042"))) && otp.otp == "0042")
        let signature = try DeliveryReport(proof(type: "SIGNATURE", signature: .value("HTTPS://a/s.png")))
        #expect(signature == DeliveryReport(.delivered(.signature(url: "HTTPS://a/s.png"))) && signature.otp == nil)
        #expect(
            try DeliveryReport(proof(type: "PHOTO", photo: .value("http://a"))).outcome == .delivered(.photo(url: "http://a")))
        for reason in FailureReason.allCases {
            let report = try DeliveryReport(
                fields("FAILED") {
                    $0.failureReason = .value(reason.rawValue)
                    $0.notes = .value("why")
                })
            #expect(report == DeliveryReport(.failed(reason), notes: "why"))
        }
    }

    @Test func ignoresFieldsThatTheStatusDoesNotNeed() throws {
        let enRoute = fields("EN_ROUTE") {
            $0.failureReason = .value("NO")
            $0.proofOfDelivery = .unreadable
        }
        #expect(wrong(enRoute).isEmpty)
        #expect(wrong(proof(type: "OTP", otp: .value("1234"), photo: .value("x"))).isEmpty)
    }

    @Test func namesAllWrongFieldsWithTheContractsTexts() {
        #expect(wrong(DeliveryReportFields()) == ["status: Status is required"])
        let words = "status: Status must be one of EN_ROUTE, ARRIVED, DELIVERED, FAILED"
        for word in ["PICKED_UP", "RETURNED", "LOST", "delivered", "", "EN_ROUTE "] { #expect(wrong(fields(word)) == [words]) }
        #expect(wrong(fields("DELIVERED")) == ["proofOfDelivery: Proof of delivery is required"])
        #expect(
            wrong(fields("DELIVERED") { $0.proofOfDelivery = .unreadable })
                == ["proofOfDelivery: Proof of delivery must be an object"])
        let types = "proofOfDelivery.type: Proof type must be one of OTP, SIGNATURE, PHOTO"
        for type in ["VIDEO", "WORD"] { #expect(wrong(proof(type: type)) == [types]) }
        #expect(wrong(fields("DELIVERED") { $0.proofOfDelivery = .value(ProofFields()) }) == [types])
        #expect(wrong(proof(type: "SIGNATURE")) == ["proofOfDelivery.signatureUrl: Signature URL is required"])
        #expect(wrong(proof(type: "PHOTO")) == ["proofOfDelivery.photoUrl: Photo URL is required"])
        #expect(wrong(fields("FAILED")) == ["failureReason: Failure reason is required"])
        #expect(wrong(fields("FAILED") { $0.failureReason = .value("RAIN") }).count == 1)
        let long = String(repeating: "n", count: 201)
        #expect(
            wrong(fields("FAILED") { $0.notes = .value(long) })
                == ["notes: Notes must have at most 200 characters", "failureReason: Failure reason is required"])
        #expect(
            wrong(fields("x") { $0.notes = .unreadable }) == [words, "notes: Notes must be a text"])
        #expect(
            wrong(fields("EN_ROUTE") { $0.notes = .value(long) }) == ["notes: Notes must have at most 200 characters"])
    }

    @Test(arguments: [SentField<String>.absent, .null, .value(""), .value(" \n"), .unreadable])
    func otherNeedsNotes(_ notes: SentField<String>) {
        let fields = fields("FAILED") {
            $0.failureReason = .value("OTHER")
            $0.notes = notes
        }
        #expect(wrong(fields) == [notes == .unreadable ? "notes: Notes must be a text" : "notes: Please describe what happened"])
    }

    @Test(
        arguments: [
            .absent, .null, .unreadable, .value(""), .value("123"), .value("12345"), .value("12a4"), .value("१२३४"),
            .value("+123"), .value(" 123"), .value("123\n"), .value("\u{FF11}\u{FF12}\u{FF13}\u{FF14}"),
            .value("\u{661}\u{662}\u{663}\u{664}"),
        ]
            as [SentField<String>])
    func codesHaveFourDigits(_ otp: SentField<String>) {
        #expect(wrong(proof(type: "OTP", otp: otp)) == ["proofOfDelivery.otp: OTP must be 4 digits"])
    }

    @Test func spacesOfWhatIsTypedOrPastedGo() throws {
        #expect(try DeliveryReport(proof(type: "OTP", otp: .value(" 00 42\u{A0}"))).otp == "0042")
        let photo = try DeliveryReport(proof(type: "PHOTO", photo: .value("\u{3000}https://a/p.png \n")))
        #expect(photo == DeliveryReport(.delivered(.photo(url: "https://a/p.png"))))
        #expect(wrong(proof(type: "PHOTO", photo: .value(" \u{A0}"))) == ["proofOfDelivery.photoUrl: Photo URL is required"])
    }

    @Test(arguments: [
        "x", "ftp://a/b", "http://", "https:///a", "https://user@a/", "https://u:p@a/", "https://a b", "https://a/\u{1}",
        "https://é.com", "javascript:alert(1)", "https://:80", "http://?a", "https://a/" + String(repeating: "a", count: 2_039),
        "https://a/\"", "https://a/\u{301}",
    ])
    func rejectsWrongURLs(_ url: String) {
        #expect(wrong(proof(type: "PHOTO", photo: .value(url))) == ["proofOfDelivery.photoUrl: Invalid URL"])
        #expect(wrong(proof(type: "SIGNATURE", signature: .value(url))) == ["proofOfDelivery.signatureUrl: Invalid URL"])
    }

    @Test func takesLongURLsAndMissingOnesAreRequired() {
        let longest = "https://a/" + String(repeating: "a", count: 2_038)
        #expect(wrong(proof(type: "PHOTO", photo: .value(longest))).isEmpty)
        #expect(wrong(proof(type: "PHOTO")) == ["proofOfDelivery.photoUrl: Photo URL is required"])
        #expect(wrong(proof(type: "SIGNATURE", photo: .value(longest))).first?.hasSuffix("Signature URL is required") == true)
    }

    @Test func notesAreCountedInUnicodeScalars() throws {
        let longest = String(repeating: "é", count: 200)
        #expect(try DriverNotes.read(.value(longest)) == longest)
        #expect(try DriverNotes.read(.value("  ")) == nil && DriverNotes.read(.null) == nil)
        #expect(throws: RuleError.self) { try DriverNotes.read(.value(longest + "\u{301}")) }
        #expect(throws: RuleError.self) { try DriverNotes.read(.unreadable) }
    }
}
