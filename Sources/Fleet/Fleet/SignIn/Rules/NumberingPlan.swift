/// How countries number phones, as far as the gateway must know: which digits are the calling code, and whether a zero
/// before the rest belongs to the number.
///
/// In most countries a zero before a number is the trunk prefix: it is dialled within the country only, so `+44 07911…` and
/// `+44 7911…` are one phone.
enum NumberingPlan {
    /// The calling codes of two digits. Those of one digit are 1 and 7, all others have three, and none begins with another
    /// one (ITU-T E.164 and its list of assigned codes).
    private static let codesOfTwoDigits: Set<Int> = [
        20, 27, 30, 31, 32, 33, 34, 36, 39, 40, 41, 43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 60, 61, 62, 63,
        64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98,
    ]

    /// The calling codes of countries without trunk prefix where numbers of subscribers begin with a zero: Italy and Vatican
    /// City, Côte d'Ivoire, Burkina Faso, Benin, Gabon, Congo, San Marino, satellite phones, Tajikistan. They are those of
    /// which libphonenumber's `PhoneNumberMetadata.xml` (github.com/google/libphonenumber, July 2026) has no national prefix,
    /// and a pattern of fixed or mobile numbers that begins with a zero.
    private static let codesWithZeros: Set<Int> = [39, 225, 226, 229, 241, 242, 378, 881, tajikistan]

    /// The only one where numbers of subscribers may begin with two zeros.
    private static let tajikistan = 992

    /// The least digits of a number without its calling code.
    private static let digitsMin = 4

    /// The number in the one form that a phone has, without trunk prefix.
    /// - Parameter number: `+` and digits. The calling code is found in the digits: an app may state a part of it only.
    /// - Returns: nil if it is no number: it begins with a zero, or two zeros or too few digits follow the calling code.
    static func canonical(_ number: String) -> String? {
        let digits = Array(number.utf8.dropFirst())
        guard digits.first != zero else { return nil }
        let code = callingCode(digits)
        let rest = digits[code.length...]
        guard code.value == tajikistan || !rest.starts(with: [zero, zero]) else { return nil }
        let isTrunk = rest.first == zero && !codesWithZeros.contains(code.value)
        let subscriber = isTrunk ? rest.dropFirst() : rest
        guard subscriber.count >= digitsMin else { return nil }
        return "+" + String(decoding: digits[..<code.length] + subscriber, as: UTF8.self)
    }

    /// The calling code of a number and the three digits behind it: `+44791`. Few people share them, and the numbers that an
    /// attacker rents do.
    /// - Parameter number: as ``canonical(_:)`` returns it.
    static func prefix(of number: String) -> String {
        let digits = number.utf8.dropFirst()
        return "+" + String(decoding: digits.prefix(callingCode(Array(digits.prefix(3))).length + 3), as: UTF8.self)
    }

    private static let zero = UInt8(ascii: "0")

    private static func callingCode(_ digits: [UInt8]) -> (value: Int, length: Int) {
        let values = digits.prefix(3).reduce(into: [0]) { $0.append(($0.last ?? 0) * 10 + Int($1 - zero)) }
        var length = values.count - 1
        if values.count > 1, [1, 7].contains(values[1]) {
            length = 1
        } else if values.count > 2, codesOfTwoDigits.contains(values[2]) {
            length = 2
        }
        return (values[length], length)
    }
}
