import JSON

/// An amount of money as an exact decimal number. A `Double` would make sums such as 0.1 + 0.2 wrong.
package struct Money: Comparable, Sendable {
    /// Millionths of the fleet's currency.
    private let millionths: Int128

    package static let zero = Money(millionths: 0)

    /// The decimals that are kept.
    private static let decimals = 6
    /// Amounts are less than 10 to this power.
    private static let integerDigitsMax = 12

    private init(millionths: Int128) { self.millionths = millionths }

    /// Nil if the number has more than 6 decimals, or is 10¹² or more.
    package init?(_ number: JSONNumber) {
        let isNegative = number.text.utf8.first == UInt8(ascii: "-")
        let parts = number.text.utf8.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 | 0x20 == UInt8(ascii: "e") }
        let mantissa = parts[0].drop { $0 == UInt8(ascii: "-") }
        let fraction = mantissa.drop { $0 != UInt8(ascii: ".") }.dropFirst()
        var digits = mantissa.filter { $0 != UInt8(ascii: ".") }.drop { $0 == UInt8(ascii: "0") }
        guard !digits.isEmpty else {
            millionths = 0
            return
        }
        // An exponent that does not fit into Int makes the number too large or too small.
        guard let exponent = parts.count == 1 ? 0 : Int(String(decoding: parts[1], as: UTF8.self)) else { return nil }
        let trailingZeros = digits.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        digits = digits.dropLast(trailingZeros)
        let (power, overflows) = exponent.subtractingReportingOverflow(fraction.count - trailingZeros)
        guard !overflows, -Self.decimals...Self.integerDigitsMax ~= power,
            digits.count + power <= Self.integerDigitsMax
        else { return nil }
        var magnitude = digits.reduce(0 as Int128) { $0 * 10 + Int128($1 - UInt8(ascii: "0")) }
        for _ in 0..<(power + Self.decimals) { magnitude *= 10 }
        millionths = isNegative ? -magnitude : magnitude
    }

    package static func < (one: Money, other: Money) -> Bool { one.millionths < other.millionths }

    package static func + (one: Money, other: Money) -> Money { Money(millionths: one.millionths + other.millionths) }

    /// The amount as a JSON number without needless zeros: `450.5`.
    package var number: JSONNumber {
        let (units, rest) = millionths.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        let padded = String(String(rest + 1_000_000).dropFirst())
        let zeros = padded.utf8.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        let fraction = padded.dropLast(zeros)
        return JSONNumber(text: (millionths < 0 ? "-" : "") + String(units) + (fraction.isEmpty ? "" : "." + fraction))
    }
}
