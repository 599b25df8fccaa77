import FanOut

/// What a page of all nodes' connections contains. Its positions are of Unix time, because nodes' monotonic clocks cannot
/// be compared.
package struct ConnectionSearch: Sendable {
    package let filter: Hub.ConnectionFilter
    /// The page begins behind it; nil: with the newest connection.
    package let after: Hub.ConnectionPosition?
    /// The most connections of a page, and of each node's part.
    package let limit: Int
    /// No page has more: a node that asks for more is answered by none.
    static let limitMax = 200

    package init(_ filter: Hub.ConnectionFilter, after: Hub.ConnectionPosition?, limit: Int) {
        self.filter = filter
        self.after = after
        self.limit = limit
    }
}

/// A node's part of a page of all nodes' connections; or the page.
package struct ConnectionPage: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let position: Hub.ConnectionPosition
        /// The connection, as the response describes it.
        package let json: [UInt8]

        package init(position: Hub.ConnectionPosition, json: [UInt8]) {
            self.position = position
            self.json = json
        }
    }

    /// Newest first.
    package let entries: [Entry]
    /// Where the list goes on; nil if this is its end.
    package let next: Hub.ConnectionPosition?

    package init(_ entries: [Entry], next: Hub.ConnectionPosition?) {
        self.entries = entries
        self.next = next
    }

    /// One page of all nodes' parts, newest first.
    ///
    /// It ends where the first of the parts does that go on: behind that place, the node may have connections which its part
    /// does not contain.
    package init(joining parts: [ConnectionPage], limit: Int) {
        let end = parts.compactMap(\.next).min(by: Hub.ConnectionPosition.precedes)
        let entries = parts.flatMap(\.entries).filter { entry in
            end.map { !Hub.ConnectionPosition.precedes($0, entry.position) } ?? true
        }.sorted { Hub.ConnectionPosition.precedes($0.position, $1.position) }
        self.init(Array(entries.prefix(limit)), next: entries.count > limit ? entries[limit - 1].position : end)
    }

    // MARK: On the bus

    /// The most bytes of one message before its last connection: NATS takes messages of up to a mebibyte, and a connection
    /// is described in some 30,000 bytes at most.
    private static let partBytesMax = 500_000

    /// The page as one or more parts of an answer.
    package var parts: [[UInt8]] {
        var parts: [[UInt8]] = []
        var writer = ByteWriter(capacity: 1_024)
        writer.append(optional: next?.description)
        for entry in entries {
            writer.append(text: entry.position.description)
            writer.append(block: entry.json)
            guard writer.bytes.count > Self.partBytesMax else { continue }
            parts.append(writer.bytes)
            writer = ByteWriter(capacity: 1_024)
        }
        return parts + [writer.bytes]
    }

    /// Reads what ``parts`` has written, one after the other; nil if it is something else.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        let nextText = reader.optionalText()
        let entries = reader.list { reader in
            let (position, json) = (Hub.ConnectionPosition(reader.text()), Array(reader.block()))
            return position.map { Entry(position: $0, json: json) }
        }
        next = nextText.flatMap { Hub.ConnectionPosition($0) }
        self.entries = entries.compactMap { $0 }
        guard reader.isValid, self.entries.count == entries.count, (next == nil) == (nextText == nil) else { return nil }
    }
}
