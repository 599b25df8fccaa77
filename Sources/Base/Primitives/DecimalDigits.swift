extension [UInt8] {
    /// Appends a number in decimal digits. Not by `String(number)`, which takes much longer.
    package mutating func appendDecimal(_ number: UInt64) {
        if number >= 10 { appendDecimal(number / 10) }
        append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}
