/// What pongs confirm, and what none has confirmed in time.
extension OwnerReceipts {
    /// Handles a pong. It confirms what was written before its ping.
    /// - Parameter now: milliseconds since 1970.
    /// - Returns: what is confirmed; empty if the payload is none of this connection's.
    package mutating func confirm(_ slot: Int, _ payload: PingPayload, now: Int64) -> [Receipt] {
        guard let connection = connection(slot), let last = connection.marks.lastIndex(where: { $0.payload == payload })
        else { return [] }
        // A new array, because an empty one would keep the memory of the others.
        connections[slot]?.marks = Array(connection.marks[(last + 1)...])
        return connection.marks[...last].map { receipt($0, connection, confirmedAt: now) }
    }

    /// What was written before a moment, is not confirmed, and was not returned yet.
    /// - Parameter moment: milliseconds since 1970.
    package mutating func unconfirmed(since moment: Int64) -> [Receipt] {
        var receipts: [Receipt] = []
        for (slot, connection) in connections.enumerated() {
            guard let connection else { continue }
            for (index, mark) in connection.marks.enumerated() where mark.writtenAt <= moment && !mark.isReported {
                receipts.append(receipt(mark, connection, confirmedAt: nil))
                connections[slot]?.marks[index].isReported = true
            }
        }
        return receipts
    }

    func receipt(_ mark: Mark, _ connection: Connection, confirmedAt: Int64?) -> Receipt {
        Receipt(
            key: connection.subscriptions[mark.subscription].key, after: mark.range.after, upTo: mark.range.upTo,
            writtenAt: mark.writtenAt, confirmedAt: confirmedAt)
    }
}
