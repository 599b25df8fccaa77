import Primitives

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
        guard data.first == UInt8(ascii: "{") else { return data }
        var packed = [mark]
        packed.reserveCapacity(data.count)
        let last = startOfIDs(id, correlationID, in: data)
        // What is between the codes is copied at once.
        var (kept, position) = (1, 1)
        while position < last {
            let byte = data[position]
            if isCode(byte) { return data }
            guard byte == quote || byte == comma, let token = token(in: data, at: position, last) else {
                position += 1
                continue
            }
            packed += data[kept..<position]
            token.append(to: &packed)
            position += token.length
            if token.beginsText, let close = data[position..<last].firstIndex(of: quote),
                let number = textNumbers.number(of: data, position..<close)
            {
                packed.append(Form.known.rawValue)
                packed.append(number)
                position = close
            }
            kept = position
        }
        packed += data[kept..<last]
        if last < data.count { packed.append(ids) }
        return packed
    }

    /// Where the ids at the end begin; the end of the data if it does not end with them.
    private static func startOfIDs(_ id: String, _ correlationID: String, in data: [UInt8]) -> Int {
        var end: [UInt8] = []
        end.reserveCapacity(128)
        appendIDs(id, correlationID, to: &end)
        let start = data.count - end.count
        return start > 0 && data.holds(end, at: start) ? start : data.count
    }

    private static func isCode(_ byte: UInt8) -> Bool {
        byte < 0x20 && byte != 0x09 && byte != 0x0A && byte != 0x0D || byte >= Form.textAfterText.rawValue
    }

    private static var quote: UInt8 { UInt8(ascii: "\"") }
    private static var comma: UInt8 { UInt8(ascii: ",") }

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
            data[close + 1] == UInt8(ascii: ":"), let number = fieldNumbers.number(of: data, (position + start)..<close)
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
        var (kept, position) = (1, 1)
        while position < stored.count {
            let byte = stored[position]
            guard isCode(byte) else {
                position += 1
                continue
            }
            data += stored[kept..<position]
            position += 1
            kept = position
            if byte == ids {
                appendIDs(id, correlationID, to: &data)
            } else if let form = Form(rawValue: byte), position < stored.count {
                append(form, Int(stored[position]), to: &data)
                position += 1
                kept = position
            } else if byte < 0x20, let number = shortNumbers[Int(byte)] {
                append(.textAfterText, number, to: &data)
            } else {
                data.append(byte)
            }
        }
        data += stored[kept...]
        return data
    }

    private static func append(_ form: Form, _ number: Int, to data: inout [UInt8]) {
        let expansions = expansions[Int(form.rawValue - Form.textAfterText.rawValue)]
        // A later version may have more.
        if number < expansions.count { data += expansions[number] }
    }

    /// The end of the data, from the comma on. An id that JSON escapes is not found there, and so is kept.
    private static func appendIDs(_ id: String, _ correlationID: String, to data: inout [UInt8]) {
        data += beforeID
        data += id.utf8
        data += beforeCorrelationID
        data += correlationID.utf8
        data.append(quote)
        data.append(UInt8(ascii: "}"))
    }

    private static let beforeID = Array(",\"notificationId\":\"".utf8)
    private static let beforeCorrelationID = Array("\",\"correlationId\":\"".utf8)

    // MARK: Tables, made once: each stored notification asks for some twenty words

    private static let fieldNumbers = WordNumbers(fields)
    private static let textNumbers = WordNumbers(texts)
    /// The numbers of the fields that ``short`` has, by its bytes.
    private static let shortNumbers = (UInt8(0)..<0x20).map { short.firstIndex(of: $0) }

    /// What the codes stand for: for each form, by number.
    private static let expansions = Form.allCases.map { form in
        (form == .known ? texts : fields).map { word in
            switch form {
            case .textAfterText: Array("\",\"\(word)\":\"".utf8)
            case .name: Array("\"\(word)\":".utf8)
            case .text: Array(",\"\(word)\":\"".utf8)
            case .afterText: Array("\",\"\(word)\":".utf8)
            case .known: Array(word.utf8)
            }
        }
    }
}

/// The numbers of words, found without a copy of the word.
private struct WordNumbers {
    private let words: [[UInt8]]
    private var numbers = [[UInt8]](repeating: [], count: 256)

    init(_ words: [String]) {
        precondition(words.count <= 256, "a code has one byte for the number")
        self.words = words.map { Array($0.utf8) }
        for (number, word) in self.words.enumerated() { numbers[Self.place(of: word, word.indices)].append(UInt8(number)) }
    }

    func number(of data: [UInt8], _ range: Range<Int>) -> UInt8? {
        guard !range.isEmpty else { return nil }
        return numbers[Self.place(of: data, range)].first { number in
            words[Int(number)].count == range.count && data.holds(words[Int(number)], at: range.lowerBound)
        }
    }

    /// Words have different lengths, beginnings and ends.
    private static func place(of data: [UInt8], _ range: Range<Int>) -> Int {
        (range.count &* 37 &+ Int(data[range.lowerBound]) &* 5 &+ Int(data[range.upperBound - 1])) & 255
    }
}

extension [UInt8] {
    /// Whether these bytes are there.
    fileprivate func holds(_ other: [UInt8], at start: Int) -> Bool {
        guard start + other.count <= count else { return false }
        return withUnsafeBytes { bytes in
            other.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: bytes[start..<(start + $0.count)]).hasSameBytes(as: $0) }
        }
    }
}
