@testable import Fleet

extension Database {
    /// The data of notifications in the order of their ids.
    /// - Parameter condition: in SQL.
    func notificationData(where condition: String = "1 = 1") throws -> [String] {
        let select = try connection.prepare(
            "SELECT data, id, correlation_id FROM notifications WHERE \(condition) ORDER BY id")
        var rows: [String] = []
        try select.run([]) { row throws(DatabaseError) in
            let data = PackedData.unpack(
                row.bytes(0), id: row.string(1), correlationID: PackedText.unpack(row.bytes(2)))
            rows.append(String(decoding: data, as: UTF8.self))
        }
        return rows
    }
}

/// A table for tests: all deliveries, with channel, sequence number and owner of each delivery.
let deliveryRows = """
    (SELECT channel, sequence, CASE WHEN owner <> '' THEN owner WHEN channel < 'd' THEN 'customer:' || SUBSTR(channel, 10) \
    ELSE 'driver:' || SUBSTR(channel, 8) END AS owner, delivery.device AS device, delivery.written_at AS written_at, \
    delivery.confirmed_at AS confirmed_at FROM notifications JOIN (SELECT number, owner, device, written_at, confirmed_at \
    FROM deliveries UNION ALL SELECT number, '', device, written_at, confirmed_at FROM notifications \
    WHERE device IS NOT NULL) AS delivery ON delivery.number = notifications.number) AS deliveries
    """

extension CommandExecutor {
    /// Moves ended pushes out of the queue, as retention does.
    @discardableResult func move(most: Int = 500) throws -> Int {
        try transaction { () throws(DatabaseError) in try outbox.jobs.outcomes.move(most: most) }
    }
}
