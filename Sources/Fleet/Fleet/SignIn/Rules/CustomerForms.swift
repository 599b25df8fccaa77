import Primitives

/// A customer's name and e-mail address.
package struct BasicDetails: Equatable, Sendable {
    package let name: String
    package let email: String
    /// Two addresses with the same key belong to one person: upper and lower case of ASCII letters are the same.
    package var emailKey: String { Self.key(of: email) }

    package static func key(of email: String) -> String {
        String(decoding: email.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// - Throws: `.invalid` (400), naming the field.
    package init(name: SentField<String>, email: SentField<String>) throws(RuleError) {
        guard let name = name.value?.withoutSurroundingSpace, (2...100).contains(name.unicodeScalars.count) else {
            throw RuleError(.wrongName)
        }
        guard name.isDisplayableName else {
            throw RuleError(.controlCharacters)
        }
        guard let email = email.value?.withoutSurroundingSpace, email.isEmailAddress else {
            throw RuleError(.wrongEmail)
        }
        self.name = name
        self.email = email
    }
}

/// A means of payment: the token of a payment provider, never a card's number.
package struct PaymentMethod: Equatable, Sendable {
    package let token: String
    package let brand: String?
    package let last4: String?
    /// 1 to 12.
    package let expiryMonth: Int?
    /// 2000 to 2999.
    package let expiryYear: Int?

    /// - Throws: `.invalid` (400), naming the field.
    package init(
        token: SentField<String>, brand: SentField<String>, last4: SentField<String>, expiryMonth: SentField<Int>,
        expiryYear: SentField<Int>
    ) throws(RuleError) {
        guard let token = token.value, (1...255).contains(token.unicodeScalars.count) else {
            throw RuleError(.wrongPaymentToken)
        }
        guard brand.isMissing || brand.value.map({ $0.utf8.count <= 50 }) == true else {
            throw RuleError(.wrongBrand)
        }
        guard last4.isMissing || last4.value.map({ $0.utf8.areDigits(4...4) }) == true else {
            throw RuleError(.wrongLast4)
        }
        guard expiryMonth.isMissing || expiryMonth.value.map({ (1...12).contains($0) }) == true else {
            throw RuleError(.wrongExpiryMonth)
        }
        guard expiryYear.isMissing || expiryYear.value.map({ (2_000...2_999).contains($0) }) == true else {
            throw RuleError(.wrongExpiryYear)
        }
        self.token = token
        self.brand = brand.value
        self.last4 = last4.value
        self.expiryMonth = expiryMonth.value
        self.expiryYear = expiryYear.value
    }

    /// A stored means of payment.
    package init(token: String, brand: String?, last4: String?, expiryMonth: Int?, expiryYear: Int?) {
        self.token = token
        self.brand = brand
        self.last4 = last4
        self.expiryMonth = expiryMonth
        self.expiryYear = expiryYear
    }
}
