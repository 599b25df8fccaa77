import Primitives

/// How a driver proves that an order was delivered.
package enum ProofOfDelivery: Equatable, Sendable {
    /// The customer's code, four digits.
    case otp(String)
    /// The address of a picture of the customer's signature.
    case signature(url: String)
    /// The address of a photo of the delivered order.
    case photo(url: String)

    /// The word for the kind of proof.
    package enum Kind: String, CaseIterable, Sendable {
        case otp = "OTP"
        case signature = "SIGNATURE"
        case photo = "PHOTO"
    }

    /// The kind of proof.
    package var kind: Kind {
        switch self {
        case .otp: .otp
        case .signature: .signature
        case .photo: .photo
        }
    }
}

/// The proof with which an order was delivered.
package struct CheckedProof: Equatable, Sendable {
    package let proof: ProofOfDelivery
    /// Whether the code is the order's; false: the order has none. Nil: the proof is no code.
    package let isOTPVerified: Bool?
    /// Milliseconds since 1970.
    package let verifiedAt: Int64

    package init(_ proof: ProofOfDelivery, isOTPVerified: Bool?, verifiedAt: Int64) {
        self.proof = proof
        self.isOTPVerified = isOTPVerified
        self.verifiedAt = verifiedAt
    }
}

/// How the code of a report compares with the order's. The caller compares them, in constant time.
package enum OTPVerdict: Equatable, Sendable {
    /// The order has no code: any four digits are taken.
    case notRequired
    case matches
    case wrong
    /// Too many codes were wrong. The code was not looked at.
    case locked(seconds: Int)
}

extension ProofOfDelivery {
    /// Whether the proof is the order's code. Nil if it is no code.
    func isOTPVerified(_ verdict: OTPVerdict) throws(RuleError) -> Bool? {
        guard kind == .otp else { return nil }
        switch verdict {
        case .notRequired: return false
        case .matches: return true
        case .wrong: throw RuleError(.wrongOTP)
        case .locked(let seconds): throw RuleError(.lockedOTP, retryAfterSeconds: seconds)
        }
    }
}

/// `proofOfDelivery` of a report, before it is checked.
package struct ProofFields: Equatable, Sendable {
    package var type = SentField<String>.absent
    package var otp = SentField<String>.absent
    package var signatureURL = SentField<String>.absent
    package var photoURL = SentField<String>.absent

    package init() {}

    /// The proof; nil if it is wrong. Fields of other kinds of proof are ignored.
    /// - Parameter wrong: gets the field that is wrong.
    func read(_ wrong: inout [RuleError.Field]) -> ProofOfDelivery? {
        guard let type = type.value, let kind = ProofOfDelivery.Kind(word: type) else {
            wrong.append(.init("proofOfDelivery.type", "Proof type must be one of OTP, SIGNATURE, PHOTO"))
            return nil
        }
        switch kind {
        case .otp:
            if let otp = otp.value?.withoutSpaces, otp.isDeliveryOTP { return .otp(otp) }
            wrong.append(.init("proofOfDelivery.otp", "OTP must be 4 digits"))
            return nil
        case .signature:
            return signatureURL.readURL("proofOfDelivery.signatureUrl", "Signature URL is required", &wrong)
                .map { .signature(url: $0) }
        case .photo:
            return photoURL.readURL("proofOfDelivery.photoUrl", "Photo URL is required", &wrong).map { .photo(url: $0) }
        }
    }
}

extension String {
    /// Whether the text is four ASCII digits.
    package var isDeliveryOTP: Bool { utf8.count == 4 && utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } }
}

extension SentField<String> {
    fileprivate func readURL(_ path: String, _ missing: String, _ wrong: inout [RuleError.Field]) -> String? {
        switch self {
        case .value(let sent):
            let text = sent.withoutSurroundingSpace
            if text.isWebAddress { return text }
            wrong.append(.init(path, text.isEmpty ? missing : "Invalid URL"))
        case .absent, .null: wrong.append(.init(path, missing))
        case .unreadable: wrong.append(.init(path, "Invalid URL"))
        }
        return nil
    }
}
