import JSON

/// Finds what looks like a payment card's number: 13 to 19 digits whose check digit is right (ISO/IEC 7812-1, Luhn). Such
/// numbers must neither be stored nor logged.
package enum CardNumbers {
    private static let lengths = 13...19

    /// Whether a JSON value contains one, anywhere: in a field's name, a text, a number or an element. False if the bytes
    /// are no JSON object or array.
    package static func occur(in json: UnsafeRawBufferPointer) -> Bool {
        var isFound = false
        try? JSONReader.tokens(json) { token in
            switch token {
            case _ where isFound: break
            case .objectStart, .objectEnd, .arrayStart, .arrayEnd: break
            case .name(let text): text.withText { isFound = occur(inText: $0) }
            case .scalar(let value) where value.kind == .number: isFound = occur(inNumber: value.raw)
            case .scalar(let value): value.withText { isFound = occur(inText: $0) }
            }
        }
        return isFound
    }

    /// Whether a text contains one. Between its digits may be any number of spaces, dashes and invisible characters. A
    /// card number begins and ends where a group of digits does, and next to it may be further groups, such as a date.
    package static func occur(inText text: String) -> Bool { text.withBytes(occur(inText:)) }

    /// - Parameter text: UTF-8.
    private static func occur(inText text: UnsafeRawBufferPointer) -> Bool {
        var groups = DigitGroups()
        var index = 0
        while index < text.count {
            let byte = text[index]
            // Most texts are letters.
            if !groups.isInGroup, isLetter(byte) {
                groups.removeAll()
                repeat { index += 1 } while index < text.count && isLetter(text[index])
                continue
            }
            let part: NumberPart
            if byte < 0x80 {
                (part, index) = (NumberPart(ascii: byte), index + 1)
            } else {
                let (scalar, count) = scalar(in: text, at: index)
                (part, index) = (NumberPart(scalar), index + count)
            }
            switch part {
            case .digit(let digit): groups.append(digit)
            case .separator: if groups.endGroup() { return true }
            case .other:
                if groups.endGroup() { return true }
                groups.removeAll()
            }
        }
        return groups.endGroup()
    }

    /// Whether a byte is a letter, or one of a few other characters that are no part of a number.
    private static func isLetter(_ byte: UInt8) -> Bool { byte | 0x20 >= UInt8(ascii: "a") && byte < 0x7F }

    /// Whether the integer part of a JSON number is one. An exponent may move its point.
    static func occur(inNumber text: UnsafeRawBufferPointer) -> Bool {
        // So few digits are none, and most numbers have no exponent.
        if text.count < lengths.lowerBound, text.allSatisfy({ $0 | 0x20 != UInt8(ascii: "e") }) { return false }
        let start = text.first == UInt8(ascii: "-") ? 1 : 0
        let mantissaEnd = text.firstIndex { $0 | 0x20 == UInt8(ascii: "e") } ?? text.count
        let point = text[..<mantissaEnd].firstIndex(of: UInt8(ascii: ".")) ?? mantissaEnd
        var exponent = 0
        for byte in text[mantissaEnd...] where byte <= UInt8(ascii: "9") && byte >= UInt8(ascii: "0") {
            exponent = min(exponent * 10 + Int(byte - UInt8(ascii: "0")), 1_000)
        }
        if text[mantissaEnd...].contains(UInt8(ascii: "-")) { exponent = -exponent }
        /// Digits of the integer part that have not been read.
        var missing = point - start + exponent
        var group = DigitGroups()
        var hasBegun = false
        var index = start
        while missing > 0 {
            if index == point { index += 1 }
            let digit = index < mantissaEnd ? text[index] - UInt8(ascii: "0") : 0
            hasBegun = hasBegun || digit != 0
            guard !hasBegun || missing <= lengths.upperBound else { return false }
            if hasBegun { group.append(digit) }
            (index, missing) = (index + 1, missing - 1)
            if !hasBegun, index >= mantissaEnd { return false }
        }
        return group.endGroup()
    }

    /// Groups of digits that follow each other, as far back as a card's number may begin.
    private struct DigitGroups {
        /// For each of the last digits, the sum of those before it. One of the two sums doubles every second digit from the
        /// first one, the other, 32 places behind it, from the second one: where a number ends decides which one counts.
        private var sums = InlineArray<64, Int>(repeating: 0)
        /// A bit for each of the last 32 digits, the last one lowest: whether a group begins with it.
        private var begins: UInt32 = 0
        private var count = 0
        private(set) var isInGroup = false

        mutating func append(_ digit: UInt8) {
            let (place, next) = (count & 31, (count + 1) & 31)
            begins = begins << 1 | (isInGroup ? 0 : 1)
            isInGroup = true
            let (once, twice) = (Int(digit), Int(digit) * 2 - (digit > 4 ? 9 : 0))
            sums[next] = sums[place] &+ (count & 1 == 0 ? twice : once)
            sums[32 + next] = sums[32 + place] &+ (count & 1 == 0 ? once : twice)
            count += 1
        }

        /// Ends a group, if one has begun.
        /// - Returns: whether it ends a card's number. Its check digit is right (Luhn) if the sum of its digits, of which
        ///   every second one from the right is doubled, is a multiple of ten.
        mutating func endGroup() -> Bool {
            guard isInGroup else { return false }
            isInGroup = false
            // A bit for each length that a number has which begins with a group; the shortest lowest.
            var possible = begins >> UInt32(CardNumbers.lengths.lowerBound - 1) & (1 << UInt32(CardNumbers.lengths.count) - 1)
            let start = (count & 1) * 32
            while possible > 0 {
                let length = CardNumbers.lengths.lowerBound + possible.trailingZeroBitCount
                let sum = sums[start + (count & 31)] &- sums[start + ((count - length) & 31)]
                if sum > 0, UInt8(truncatingIfNeeded: sum) % 10 == 0 { return true }
                possible &= possible - 1
            }
            return false
        }

        mutating func removeAll() { (count, begins) = (0, 0) }
    }

    /// Reads the scalar at `index`, which is not ASCII.
    /// - Parameter text: UTF-8.
    @inline(__always)
    private static func scalar(in text: UnsafeRawBufferPointer, at index: Int) -> (value: UInt32, count: Int) {
        let lead = UInt32(text[index])
        let count = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        var value = lead & (0x7F >> UInt32(count))
        for offset in 1..<count { value = value << 6 | UInt32(text[index + offset]) & 0x3F }
        return (value, count)
    }
}
