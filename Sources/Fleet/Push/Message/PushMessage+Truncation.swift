extension PushMessage {
    /// The value of an event field is not cut to fewer bytes of JSON than this.
    private static let fieldBytesMin = 24
    /// The same limit for title and body.
    private static let textBytesMin = 64

    /// Truncates the message until it fits: cuts first the longest event fields, then the body, then the title, always
    /// between characters (``Swift/String/characterBytesMax``); then drops event fields. Required fields are not affected,
    /// unless they alone are too long: then the longest of them are dropped. They are never cut: half an id would be another
    /// id. If all this is not enough, sound, category and thread are removed.
    /// - Parameters:
    ///   - bytesMax: maximum bytes of the message as JSON.
    ///   - size: returns the bytes of a message as JSON.
    mutating func truncate(to bytesMax: Int, size: (PushMessage) -> Int) {
        let steps: [(inout PushMessage, _ excess: Int) -> Void] = [
            { $0.cutEventFields(by: $1) },
            { $0.body = $0.body.cut(by: ($1 + 1) / 2, keeping: Self.textBytesMin) },  // the payload has it twice
            { $0.title = $0.title.cut(by: ($1 + 1) / 2, keeping: Self.textBytesMin) },
            { $0.dropEventFields(by: $1) },
            { $0.dropRequiredFields(by: $1) },
            { message, _ in (message.sound, message.category, message.thread) = ("", "", "") },
        ]
        for step in steps {
            let excess = size(self) - bytesMax
            guard excess > 0 else { return }
            step(&self, excess)
        }
    }

    /// Cuts the longest values to one common length. The result is the same as that of removing single bytes, each from
    /// the value that is then the longest.
    private mutating func cutEventFields(by excess: Int) {
        let costs = eventFields.filter { !$0.isRequired }.map { $0.value.jsonBytes }.sorted(by: >)
        var length = Self.fieldBytesMin
        var sum = 0
        for (index, cost) in costs.enumerated() {
            sum += cost
            let count = index + 1
            let next = count < costs.count ? costs[count] : 0
            // Is it enough to cut the `count` longest values to the length of the next one?
            if sum - count * next >= excess {
                length = max(length, (sum - excess) / count)
                break
            }
        }
        for index in eventFields.indices where !eventFields[index].isRequired {
            eventFields[index].value = eventFields[index].value.cut(toJSONBytes: length)
        }
    }

    private mutating func dropEventFields(by excess: Int) {
        var excess = excess
        for index in eventFields.indices.reversed() where excess > 0 && !eventFields[index].isRequired {
            excess -= eventFields.remove(at: index).jsonBytes
        }
    }

    private mutating func dropRequiredFields(by excess: Int) {
        var excess = excess
        while excess > 0, let longest = (leadingFields + eventFields).max(by: { $0.value.utf8.count < $1.value.utf8.count }) {
            leadingFields.removeAll { $0 == longest }
            eventFields.removeAll { $0 == longest }
            excess -= longest.jsonBytes
        }
    }
}

extension PushMessage.Field {
    /// The field's size in bytes as a member of a JSON object, including a comma.
    fileprivate var jsonBytes: Int { name.jsonBytes + value.jsonBytes + 6 }
}

extension String {
    /// The string's size in bytes as the content of a JSON string.
    fileprivate var jsonBytes: Int { utf8.reduce(0) { $0 + Self.jsonBytes($1) } }

    /// The number of bytes that ``JSONWriter`` writes for a byte of a string.
    private static func jsonBytes(_ byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x09, 0x0A, 0x0D: 2
        case 0..<0x20: 6
        default: 1
        }
    }

    fileprivate func cut(by excess: Int, keeping least: Int) -> String { cut(toJSONBytes: max(least, jsonBytes - excess)) }

    /// The string if it fits; else as many of its first characters as fit, followed by an ellipsis. Characters are
    /// grapheme clusters: an emoji with its skin tone, a letter with its accents. A cluster of more than
    /// ``characterBytesMax`` is cut between Unicode scalars.
    fileprivate func cut(toJSONBytes bytesMax: Int) -> String {
        guard jsonBytes > bytesMax else { return self }
        var left = bytesMax - Self.ellipsis.utf8.count
        var end = startIndex
        while true {
            let next = index(after: end)
            let bytes = utf8[end..<next].reduce(0) { $0 + Self.jsonBytes($1) }
            guard bytes <= left else {
                if bytes > Self.characterBytesMax { end = endOfScalars(from: end, jsonBytes: left) }
                return self[..<end] + Self.ellipsis
            }
            left -= bytes
            end = next
        }
    }

    /// The end of as many scalars as fit.
    private func endOfScalars(from start: Index, jsonBytes bytesMax: Int) -> Index {
        var left = bytesMax
        var end = start
        while end < endIndex {
            let next = unicodeScalars.index(after: end)
            left -= utf8[end..<next].reduce(0) { $0 + Self.jsonBytes($1) }
            guard left >= 0 else { break }
            end = next
        }
        return end
    }

    /// A grapheme cluster with more bytes is none of a script or an emoji (the longest emoji has 35), but a letter with
    /// very many accents. It would never fit, and if it stands at the beginning, nothing of the text would be left.
    private static let characterBytesMax = 64

    private static let ellipsis = "…"
}
