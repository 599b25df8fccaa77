/// Finds a person's names and addresses in other texts, and replaces them.
///
/// All texts are searched for at once, so that a customer with a thousand addresses costs as much as one with two.
struct TextSearch {
    /// The text that replaces what was found.
    private static let placeholder = Array("[erased]".utf8)
    /// The length of the shortest text to search for, in Unicode scalars. Shorter ones occur inside unrelated words.
    private static let lengthMin = 3

    /// The texts in UTF-8, by their first three bytes; the longest first, because a text may be part of a longer one,
    /// which must be replaced as a whole.
    private let texts: [UInt32: [[UInt8]]]
    /// By byte: whether a text begins with it.
    private let beginsText: [Bool]

    init(_ texts: [String]) {
        let long = Set(texts.filter { $0.unicodeScalars.count >= Self.lengthMin }.map { Array($0.utf8) })
        self.texts = Dictionary(grouping: long) { Self.prefix($0[...]) }.mapValues { $0.sorted { $0.count > $1.count } }
        var begins = [Bool](repeating: false, count: 256)
        for text in long { begins[Int(text[0])] = true }
        beginsText = begins
    }

    /// Replaces all occurrences of the texts.
    /// - Parameter wholeWords: whether to leave occurrences that are a part of a longer word: `Ann` in `Annex`.
    /// - Returns: nil if there is no occurrence.
    func replacing(in text: [UInt8], wholeWords: Bool) -> [UInt8]? {
        guard !texts.isEmpty else { return nil }
        var result: [UInt8] = []
        /// Where the part begins that is not yet copied to the result.
        var kept = 0
        var position = 0
        while position + Self.lengthMin <= text.count {
            guard beginsText[Int(text[position])], let length = match(in: text, at: position, wholeWords) else {
                position += 1
                continue
            }
            result += text[kept..<position]
            result += Self.placeholder
            position += length
            kept = position
        }
        if kept == 0 { return nil }
        result += text[kept...]
        return result
    }

    /// The length of the longest text that occurs at `position`; nil if none does.
    private func match(in text: [UInt8], at position: Int, _ wholeWords: Bool) -> Int? {
        let rest = text[position...]
        return texts[Self.prefix(rest)]?.first { candidate in
            rest.starts(with: candidate) && !(wholeWords && Self.isInsideWord(text, position..<position + candidate.count))
        }?.count
    }

    private static func prefix(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.prefix(3).reduce(0) { $0 << 8 | UInt32($1) }
    }

    // MARK: Words

    /// Whether a letter, a digit or an accent precedes or follows the range, so that it is a part of a word.
    private static func isInsideWord(_ text: [UInt8], _ range: Range<Int>) -> Bool {
        var before = range.lowerBound
        repeat { before -= 1 } while before > 0 && text[before] & 0xC0 == 0x80  // to the first byte of the scalar
        let previous = before < 0 ? nil : scalar(text[before..<range.lowerBound])
        return previous.map(continuesWord) ?? false || scalar(text[range.upperBound...]).map(continuesWord) ?? false
    }

    private static func scalar(_ bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        String(decoding: bytes.prefix(4), as: UTF8.self).unicodeScalars.first
    }

    /// Letters without upper and lower case do not count: they belong to scripts without spaces between words, or that
    /// join small words to names.
    private static func continuesWord(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return properties.isCased || properties.numericType != nil || properties.isGraphemeExtend
    }
}
