/// The data of notifications as the log keeps it: names of fields and texts that occur in many notifications are replaced
/// by codes of one or two bytes (``PackedData/fields``, ``PackedData/texts``), and the two ids at the end by one, because the
/// row has them already. What is between them is kept as it is.
///
/// Codes are bytes that UTF-8 and compact JSON do not contain. Data that contains such a byte is kept whole, as that of
/// earlier versions is: it begins with a brace, and packed data with ``mark``.
enum PackedData {
    /// The first byte of packed data. The brace with which all data begins is left out.
    private static let mark: UInt8 = 0x01
    /// Stands for `,"notificationId":"…","correlationId":"…"}`.
    private static let ids: UInt8 = 0x02
    /// One byte each, for the first fields as in ``Form/textAfterText``. Without the bytes of white space.
    private static let short: [UInt8] = Array(0x03...0x08) + [0x0B, 0x0C] + Array(0x0E...0x1F)
    /// Another byte follows: the field's number, or the text's.
    private enum Form: UInt8, CaseIterable {
        /// `","name":"`
        case textAfterText = 0xF8
        /// `"name":`
        case name
        /// `,"name":"`
        case text
        /// `","name":`
        case afterText
        /// A text of ``texts``, without quotes.
        case known
    }

    // MARK: Packing

    /// - Parameters:
    ///   - id: the notification's.
    ///   - correlationID: the notification's.
    static func pack(_ data: [UInt8], id: String, correlationID: String) -> [UInt8] {
        guard data.first == UInt8(ascii: "{"), !data.contains(where: isCode) else { return data }
        var packed = [mark]
        packed.reserveCapacity(data.count)
        let end = idsAtEnd(id, correlationID)
        let hasIDs = data.count > end.count && data.suffix(end.count).elementsEqual(end)
        let last = hasIDs ? data.count - end.count : data.count
        var position = 1
        while position < last {
            let byte = data[position]
            guard byte == quote || byte == comma, let token = token(in: data, at: position, last) else {
                packed.append(byte)
                position += 1
                continue
            }
            token.append(to: &packed)
            position += token.length
            guard token.beginsText, let close = data[position..<last].firstIndex(of: quote),
                let number = textNumbers.number(of: data[position..<close])
            else { continue }
            packed.append(Form.known.rawValue)
            packed.append(number)
            position = close
        }
        if hasIDs { packed.append(ids) }
        return packed
    }

    private static func isCode(_ byte: UInt8) -> Bool {
        byte < 0x20 && byte != 0x09 && byte != 0x0A && byte != 0x0D || byte >= Form.textAfterText.rawValue
    }

    private static let (quote, comma) = (UInt8(ascii: "\""), UInt8(ascii: ","))

    /// A field with the punctuation around its name that belongs to its code.
    private struct Token {
        let form: Form
        let number: UInt8
        /// The bytes that the code stands for.
        let length: Int
        var beginsText: Bool { form == .textAfterText || form == .text }

        func append(to packed: inout [UInt8]) {
            if form == .textAfterText, Int(number) < short.count {
                packed.append(short[Int(number)])
            } else {
                packed.append(form.rawValue)
                packed.append(number)
            }
        }
    }

    private static func token(in data: [UInt8], at position: Int, _ last: Int) -> Token? {
        func has(_ byte: UInt8, at offset: Int) -> Bool { position + offset < last && data[position + offset] == byte }
        let endsText = has(quote, at: 0) && has(comma, at: 1) && has(quote, at: 2)
        let start = endsText ? 3 : has(comma, at: 0) && has(quote, at: 1) ? 2 : has(quote, at: 0) ? 1 : 0
        guard start > 0, let close = data[(position + start)..<last].firstIndex(of: quote), close + 1 < last,
            data[close + 1] == UInt8(ascii: ":"), let number = fieldNumbers.number(of: data[(position + start)..<close])
        else { return nil }
        let (length, beginsText) = (close + 2 - position, has(quote, at: close + 2 - position))
        switch (endsText, beginsText) {
        case (true, true): return Token(form: .textAfterText, number: number, length: length + 1)
        case (true, false): return Token(form: .afterText, number: number, length: length)
        case (false, true) where start == 2: return Token(form: .text, number: number, length: length + 1)
        // The comma, if there is one, has been kept or is.
        case (false, _): return start == 1 ? Token(form: .name, number: number, length: length) : nil
        }
    }

    // MARK: Unpacking

    static func unpack(_ stored: [UInt8], id: String, correlationID: String) -> [UInt8] {
        guard stored.first == mark else { return stored }
        var data = [UInt8(ascii: "{")]
        data.reserveCapacity(stored.count * 2 + 128)
        var position = 1
        while position < stored.count {
            let byte = stored[position]
            position += 1
            if byte == ids {
                data += idsAtEnd(id, correlationID)
            } else if let form = Form(rawValue: byte), position < stored.count {
                append(form, Int(stored[position]), to: &data)
                position += 1
            } else if let number = short.firstIndex(of: byte) {
                append(.textAfterText, number, to: &data)
            } else {
                data.append(byte)
            }
        }
        return data
    }

    private static func append(_ form: Form, _ number: Int, to data: inout [UInt8]) {
        let words = form == .known ? texts : fields
        // A later version may have more.
        guard words.indices.contains(number) else { return }
        switch form {
        case .textAfterText: data += Array("\",\"\(words[number])\":\"".utf8)
        case .name: data += Array("\"\(words[number])\":".utf8)
        case .text: data += Array(",\"\(words[number])\":\"".utf8)
        case .afterText: data += Array("\",\"\(words[number])\":".utf8)
        case .known: data += Array(words[number].utf8)
        }
    }

    /// The end of the data, from the comma on. An id that JSON escapes is not found there, and so is kept.
    private static func idsAtEnd(_ id: String, _ correlationID: String) -> [UInt8] {
        Array(",\"notificationId\":\"\(id)\",\"correlationId\":\"\(correlationID)\"}".utf8)
    }

    private static let fieldNumbers = WordNumbers(fields)
    private static let textNumbers = WordNumbers(texts)
}

/// The numbers of words, found without a copy of the word.
private struct WordNumbers {
    private let words: [[UInt8]]
    private var numbers = [[UInt8]](repeating: [], count: 256)

    init(_ words: [String]) {
        precondition(words.count <= 256, "a code has one byte for the number")
        self.words = words.map { Array($0.utf8) }
        for (number, word) in self.words.enumerated() { numbers[Self.place(of: word[...])].append(UInt8(number)) }
    }

    func number(of word: ArraySlice<UInt8>) -> UInt8? {
        guard !word.isEmpty else { return nil }
        return numbers[Self.place(of: word)].first { words[Int($0)].elementsEqual(word) }
    }

    /// Words have different lengths, beginnings and ends.
    private static func place(of word: ArraySlice<UInt8>) -> Int {
        (word.count &* 37 &+ Int(word[word.startIndex]) &* 5 &+ Int(word[word.endIndex - 1])) & 255
    }
}
