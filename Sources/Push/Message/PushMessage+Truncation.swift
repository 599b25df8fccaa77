extension PushMessage {
    /// Bytes that a text keeps when texts are cut evenly; less would tell nobody anything.
    private static let detailBytesMin = 24
    private static let lineBytesMin = 64

    /// Makes the message fit: first the longest of what the event says is cut, then the body, then the title, each between two
    /// characters as people see them. What apps were promised is whole as long as the rest can give way; an announcement of
    /// nothing but endless ids loses even those, the longest first, for a number cut in half is another number.
    /// - Parameter size: bytes of the message as it is sent, in JSON.
    mutating func truncate(to bytesMax: Int, size: (PushMessage) -> Int) {
        let steps: [(inout PushMessage, _ excess: Int) -> Void] = [
            { $0.cutDetails(by: $1) },
            { $0.body = $0.body.cut(by: ($1 + 1) / 2, keeping: Self.lineBytesMin) },  // it is there twice: shown, and as data
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

    /// Cuts the longest values, all to one length: as if of the longest one byte were taken, again and again.
    private mutating func cutDetails(by excess: Int) {
        let costs = details.filter { !$0.isRequired }.map { $0.value.jsonBytes }.sorted(by: >)
        var length = Self.detailBytesMin
        var sum = 0
        for (index, cost) in costs.enumerated() {
            sum += cost
            let count = index + 1
            let next = count < costs.count ? costs[count] : 0
            // With the longest `count` as short as the next one, is it enough?
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
    /// As a member of an object, with its comma.
    fileprivate var jsonBytes: Int { name.jsonBytes + value.jsonBytes + 6 }
}

extension String {
    /// As the content of a JSON string.
    fileprivate var jsonBytes: Int { utf8.reduce(0) { $0 + Self.jsonBytes($1) } }

    /// What ``JSONWriter`` makes of a byte.
    private static func jsonBytes(_ byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x09, 0x0A, 0x0D: 2
        case 0..<0x20: 6
        default: 1
        }
    }

    fileprivate func cut(by excess: Int, keeping least: Int) -> String { cut(toJSONBytes: max(least, jsonBytes - excess)) }

    /// The text if it takes no more than so many bytes, else as many characters from its beginning as they hold with an
    /// ellipsis. A character is what people take for one: an emoji with its skin tone, a letter with its accents.
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
