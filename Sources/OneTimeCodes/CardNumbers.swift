import JSON

/// Finds what looks like a payment card's number: 13 to 19 digits whose check digit is right (ISO/IEC 7812-1, Luhn). Such
/// numbers must neither be stored nor logged.
package enum CardNumbers {
    private static let lengths = 13...19

    /// Whether a JSON value contains one, anywhere: in a field's name, a text, a number or an element. False if the bytes
    /// are no JSON object or array.
    package static func occur(in json: UnsafeRawBufferPointer) -> Bool {
        var isFound = false
        func look(at slice: JSONSlice) throws {
            guard !isFound else { return }
            switch slice.kind {
            case .string: isFound = occur(inText: slice.string ?? "")
            case .number: isFound = occur(inNumber: Array(slice.raw))
            case .object:
                try JSONReader.object(slice.raw) { name, value in
                    try look(at: name)
                    try look(at: value)
                }
            case .array: try JSONReader.array(slice.raw) { try look(at: $0) }
            case .boolean, .null: break
            }
        }
        try? JSONReader.object(json) { name, value in
            try look(at: name)
            try look(at: value)
        }
        if !isFound { try? JSONReader.array(json) { try look(at: $0) } }
        return isFound
    }

    /// Whether a text contains one. Between its digits may be any number of spaces, dashes and invisible characters. A
    /// card number begins and ends where a group of digits does, and next to it may be further groups, such as a date.
    package static func occur(inText text: String) -> Bool {
        var groups: [[UInt8]] = []
        var group: [UInt8] = []
        for scalar in text.unicodeScalars {
            if let digit = scalar.decimalDigit {
                group.append(digit)
            } else if scalar.isSeparator {
                if !group.isEmpty { groups.append(group) }
                group = []
            } else {
                if occur(inGroups: groups + [group]) { return true }
                (groups, group) = ([], [])
            }
        }
        return occur(inGroups: groups + [group])
    }

    /// Whether successive groups of digits are a card's number together.
    private static func occur(inGroups groups: [[UInt8]]) -> Bool {
        for start in groups.indices {
            var digits: [UInt8] = []
            for group in groups[start...] {
                guard digits.count + group.count <= lengths.upperBound else { break }
                digits += group
                if lengths.contains(digits.count), hasCheckDigit(digits) { return true }
            }
        }
        return false
    }

    /// Whether the integer part of a JSON number is one. An exponent may move its point.
    static func occur(inNumber text: [UInt8]) -> Bool {
        let parts = text.split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
        guard let mantissa = parts.first else { return false }
        let halves = mantissa.split(separator: UInt8(ascii: "."), maxSplits: 1)
        let (whole, fraction) = (halves.first ?? [], halves.count > 1 ? halves[1] : [])
        let exponent = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) ?? 1_000 : 0
        var digits = (Array(whole) + fraction).filter { $0 != UInt8(ascii: "-") }.map { $0 - UInt8(ascii: "0") }
        let point = digits.count - fraction.count + min(max(exponent, -1_000), 1_000)
        guard point > 0 else { return false }
        let leading = digits.prefix { $0 == 0 }.count
        guard point - leading <= lengths.upperBound else { return false }
        if point < digits.count { digits.removeLast(digits.count - point) }
        digits += [UInt8](repeating: 0, count: point - digits.count)
        digits.removeFirst(min(leading, digits.count))
        return lengths.contains(digits.count) && hasCheckDigit(digits)
    }

    /// Luhn: every second digit from the right is doubled; the sum of all digits is a multiple of ten.
    private static func hasCheckDigit(_ digits: [UInt8]) -> Bool {
        let sum = digits.reversed().enumerated().reduce(0) { sum, digit in
            let value = Int(digit.element) * (digit.offset.isMultiple(of: 2) ? 1 : 2)
            return sum + value / 10 + value % 10
        }
        return sum.isMultiple(of: 10) && digits.contains { $0 != 0 }
    }
}

extension Unicode.Scalar {
    /// White space, a dash, or a character that is not seen, such as a zero-width space.
    fileprivate var isSeparator: Bool {
        if isASCII { return self == "-" || properties.isWhitespace }
        return properties.isWhitespace || properties.generalCategory == .dashPunctuation || properties.generalCategory == .format
    }

    /// The value of a decimal digit of any script: full-width digits are digits, too.
    fileprivate var decimalDigit: UInt8? {
        if isASCII { return UInt8(ascii: "0")...UInt8(ascii: "9") ~= UInt8(value) ? UInt8(value) - UInt8(ascii: "0") : nil }
        guard [.decimal, .digit].contains(properties.numericType), let value = properties.numericValue else { return nil }
        return UInt8(value)
    }
}
