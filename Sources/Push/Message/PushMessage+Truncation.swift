extension PushMessage {
    /// A value of a data field is not cut to fewer bytes of JSON than this.
    private static let detailBytesMin = 24
    /// The same limit for title and body.
    private static let lineBytesMin = 64

    /// Truncates the message until it fits: cuts first the longest details, then the body, then the title, always
    /// between grapheme clusters; then drops details. If the required fields alone are too long, drops the longest of
    /// them. They are never cut: half an id would be another id.
    /// - Parameter size: returns the bytes of the message as JSON.
    mutating func truncate(to bytesMax: Int, size: (PushMessage) -> Int) {
        let steps: [(inout PushMessage, _ excess: Int) -> Void] = [
            { $0.cutDetails(by: $1) },
            { $0.body = $0.body.cut(by: ($1 + 1) / 2, keeping: Self.lineBytesMin) },  // the payload has it twice
            { $0.title = $0.title.cut(by: ($1 + 1) / 2, keeping: Self.lineBytesMin) },
            { $0.dropDetails(by: $1) },
            { $0.dropRequired(by: $1) },
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
    private mutating func cutDetails(by excess: Int) {
        let costs = details.filter { !$0.isRequired }.map { $0.value.jsonBytes }.sorted(by: >)
        var length = Self.detailBytesMin
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
        for index in details.indices where !details[index].isRequired {
            details[index].value = details[index].value.cut(toJSONBytes: length)
        }
    }

    private mutating func dropDetails(by excess: Int) {
        var excess = excess
        for index in details.indices.reversed() where excess > 0 && !details[index].isRequired {
            excess -= details.remove(at: index).jsonBytes
        }
    }

    private mutating func dropRequired(by excess: Int) {
        var excess = excess
        while excess > 0, let longest = (ids + details).max(by: { $0.value.utf8.count < $1.value.utf8.count }) {
            ids.removeAll { $0 == longest }
            details.removeAll { $0 == longest }
            excess -= longest.jsonBytes
        }
    }
}

extension PushMessage.Field {
    /// Bytes as a member of a JSON object, with its comma.
    fileprivate var jsonBytes: Int { name.jsonBytes + value.jsonBytes + 6 }
}

extension String {
    /// Bytes as the content of a JSON string.
    fileprivate var jsonBytes: Int { utf8.reduce(0) { $0 + Self.jsonBytes($1) } }

    /// Bytes that ``JSONWriter`` writes for a byte.
    private static func jsonBytes(_ byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x09, 0x0A, 0x0D: 2
        case 0..<0x20: 6
        default: 1
        }
    }

    fileprivate func cut(by excess: Int, keeping least: Int) -> String { cut(toJSONBytes: max(least, jsonBytes - excess)) }

    /// The string if it fits; else as many of its first characters as fit, followed by an ellipsis. Characters are
    /// grapheme clusters: an emoji with its skin tone, a letter with its accents.
    fileprivate func cut(toJSONBytes bytesMax: Int) -> String {
        guard jsonBytes > bytesMax else { return self }
        var left = bytesMax - Self.ellipsis.utf8.count
        var end = startIndex
        while true {
            let next = index(after: end)
            left -= utf8[end..<next].reduce(0) { $0 + Self.jsonBytes($1) }
            guard left >= 0 else { return self[..<end] + Self.ellipsis }
            end = next
        }
    }

    private static let ellipsis = "…"
}
