import Primitives

/// A customer's phone number.
package struct PhoneNumber: Equatable, Sendable {
    /// The country's calling code, such as `+44`.
    package let callingCode: String
    /// Two lower-case letters, such as `gb`.
    package let country: String
    /// The number in E.164, such as `+442071838750`, without trunk prefix: each phone has one text.
    package let text: String

    /// The calling code of a number in E.164 and the three digits behind it, whose codes are limited together.
    package static func prefix(of text: String) -> String { NumberingPlan.prefix(of: text) }

    /// A number in E.164 for the log: the calling code's first digit and the last two digits.
    package static func masked(_ text: String) -> String {
        let digits = text.utf8.count
        guard digits > 6 else { return "+*" }
        return String(text.prefix(2)) + String(repeating: "*", count: digits - 4) + String(text.suffix(2))
    }
}

/// The body of a login, before it is checked.
package struct LoginForm: Equatable, Sendable {
    /// `phone_isd`.
    package var callingCode = SentField<String>.absent
    /// `phone_country`.
    package var country = SentField<String>.absent
    package var phone = SentField<String>.absent
    /// `user_type`.
    package var userType = SentField<String>.absent

    package init() {}

    /// The only `user_type`.
    private static let customer = "customer"

    /// The number, without the zero that is dialled before it within its country. A number that begins with the digits of its
    /// calling code stays as it is: in India, say, 91… is an ordinary number.
    /// - Parameter countries: the calling codes that may sign in; empty: all.
    /// - Throws: `.invalid` (400), for the first field that is wrong.
    package func number(countries: [String]) throws(RuleError) -> PhoneNumber {
        guard let code = callingCode.value, code.utf8.first == UInt8(ascii: "+"), code.utf8.dropFirst().areDigits(1...3) else {
            throw RuleError(.wrongCallingPrefix)
        }
        guard let country = country.value, country.utf8.count == 2, country.utf8.allSatisfy(\.isLetter) else {
            throw RuleError(.wrongCountry)
        }
        guard let phone = phone.value, phone.utf8.areDigits(4...14), code.utf8.count - 1 + phone.utf8.count <= 15,
            let text = NumberingPlan.canonical(code + phone)
        else { throw RuleError(.wrongPhone) }
        guard let type = userType.value, type.utf8.elementsEqual(Self.customer.utf8) else {
            throw RuleError(.wrongUserType)
        }
        guard countries.isEmpty || countries.contains(where: { $0.utf8.elementsEqual(code.utf8) }) else {
            throw RuleError(.countryNotServed)
        }
        return PhoneNumber(callingCode: code, country: country.lowercased(), text: text)
    }
}

/// The code that a customer has typed.
package enum TypedCode {
    /// - Throws: `.invalid` (400) if it is not six digits, which costs no try.
    package static func read(_ field: SentField<String>) throws(RuleError) -> String {
        // SMS and keyboards show and add spaces: `123 456`.
        guard let code = field.value?.withoutSpaces, code.utf8.areDigits(6...6) else {
            throw RuleError(.notSixDigits)
        }
        return code
    }
}

extension Sequence<UInt8> {
    /// Whether these are so many ASCII digits, and nothing else.
    func areDigits(_ count: ClosedRange<Int>) -> Bool {
        var number = 0
        for byte in self {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return false }
            number += 1
        }
        return count.contains(number)
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
}
