import Primitives

/// Why an order could not be delivered.
package enum FailureReason: String, CaseIterable, Sendable {
    case customerUnavailable = "CUSTOMER_UNAVAILABLE"
    case wrongAddress = "WRONG_ADDRESS"
    case customerRefused = "CUSTOMER_REFUSED"
    case addressNotFound = "ADDRESS_NOT_FOUND"
    case customerUnreachable = "CUSTOMER_UNREACHABLE"
    /// The notes say why.
    case other = "OTHER"
}

/// A driver's report of how far an order is.
package struct DeliveryReport: Equatable, Sendable {
    /// The reported status, with what only this status has.
    package enum Outcome: Equatable, Sendable {
        case enRoute
        case arrived
        case delivered(ProofOfDelivery)
        case failed(FailureReason)
    }

    package let outcome: Outcome
    /// Free text. Nil: none.
    package let notes: String?

    package init(_ outcome: Outcome, notes: String? = nil) {
        self.outcome = outcome
        self.notes = notes
    }

    /// The reported status.
    package var status: ReportedStatus {
        switch outcome {
        case .enRoute: .enRoute
        case .arrived: .arrived
        case .delivered: .delivered
        case .failed: .failed
        }
    }

    /// The code that the caller has to compare with the order's. Nil: the report has none.
    package var otp: String? { if case .delivered(.otp(let digits)) = outcome { digits } else { nil } }
}

/// The body of a report, before it is checked.
package struct DeliveryReportFields: Equatable, Sendable {
    package var status = SentField<String>.absent
    package var notes = SentField<String>.absent
    package var failureReason = SentField<String>.absent
    package var proofOfDelivery = SentField<ProofFields>.absent

    package init() {}
}

extension DeliveryReport {
    /// Checks the body of a report. Fields that the reported status does not need are ignored, except the notes.
    /// - Throws: `.invalid` (400) with all fields that are wrong.
    package init(_ fields: DeliveryReportFields) throws(RuleError) {
        var wrong: [RuleError.Field] = []
        let status = fields.readStatus(&wrong)
        let notes = DriverNotes.read(fields.notes, &wrong)
        var outcome: Outcome?
        switch status {
        case .enRoute: outcome = .enRoute
        case .arrived: outcome = .arrived
        case .delivered: outcome = fields.readProof(&wrong).map { .delivered($0) }
        case .failed: outcome = fields.readFailureReason(notes, &wrong).map { .failed($0) }
        case nil: break
        }
        guard wrong.isEmpty, let outcome else { throw RuleError(fields: wrong) }
        self.init(outcome, notes: notes)
    }
}

extension DeliveryReportFields {
    fileprivate func readStatus(_ wrong: inout [RuleError.Field]) -> ReportedStatus? {
        if let word = status.value, let status = ReportedStatus(word: word) { return status }
        wrong.append(
            .init(
                "status", status.isMissing ? "Status is required" : "Status must be one of EN_ROUTE, ARRIVED, DELIVERED, FAILED"
            ))
        return nil
    }

    fileprivate func readProof(_ wrong: inout [RuleError.Field]) -> ProofOfDelivery? {
        switch proofOfDelivery {
        case .value(let proof): return proof.read(&wrong)
        case .absent, .null: wrong.append(.init("proofOfDelivery", "Proof of delivery is required"))
        case .unreadable: wrong.append(.init("proofOfDelivery", "Proof of delivery must be an object"))
        }
        return nil
    }

    /// - Parameter notes: required for ``FailureReason/other``.
    fileprivate func readFailureReason(_ notes: String?, _ wrong: inout [RuleError.Field]) -> FailureReason? {
        guard let word = failureReason.value, let reason = FailureReason(word: word) else {
            let words = FailureReason.allCases.map(\.rawValue).joined(separator: ", ")
            wrong.append(
                .init(
                    "failureReason",
                    failureReason.isMissing ? "Failure reason is required" : "Failure reason must be one of \(words)"))
            return nil
        }
        if reason == .other, notes == nil, !wrong.contains(where: { $0.path == "notes" }) {
            wrong.append(.init("notes", "Please describe what happened"))
        }
        return reason
    }
}

extension CaseIterable where Self: RawRepresentable<String> {
    /// The case with this word, compared as bytes: `init(rawValue:)` compares canonical equivalence.
    package init?(word: String) {
        guard let match = Self.allCases.first(where: { $0.rawValue.hasSameBytes(as: word) }) else { return nil }
        self = match
    }
}
