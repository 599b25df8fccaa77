import FleetRules
import JSON

/// What everybody wants to be told on his phone. Who has said nothing has no row.
struct PreferenceTable {
    private let select: Statement
    private let upsert: Statement
    private let delete: Statement

    init(_ database: Database) throws(DatabaseError) {
        select = try Statement("SELECT json FROM preferences WHERE owner = ?", on: database)
        upsert = try Statement(
            """
            INSERT INTO preferences (owner, json, updated_at) VALUES (?, ?, ?) \
            ON CONFLICT (owner) DO UPDATE SET json = excluded.json, updated_at = excluded.updated_at
            """, on: database)
        delete = try Statement("DELETE FROM preferences WHERE owner = ?", on: database)
    }

    /// As they are stored; nil when there are none.
    func json(of owner: String) throws(DatabaseError) -> [UInt8]? {
        try select.first(.string(owner)) { row throws(DatabaseError) in row.bytes(0) }
    }

    func store(_ preferences: Preferences, of owner: String, now: Int64) throws(DatabaseError) {
        try upsert.run(.string(owner), .utf8(preferences.json), .integer(now))
    }

    /// Answers how many there were: one or none.
    func remove(of owner: String) throws(DatabaseError) -> Int { try delete.change(.string(owner)) }
}

extension Preferences {
    var json: [UInt8] {
        var json = JSONWriter()
        write(to: &json)
        return json.bytes
    }

    /// What ``write(to:)`` wrote; nil when it is something else.
    init?(json: [UInt8]) {
        self.init()
        var isRight = true
        do {
            try json.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in
                    if key.equals("types") {
                        isRight = try readTypes(value) && isRight
                    } else if key.equals("quietHours") {
                        isRight = try readQuietHours(value) && isRight
                    }
                }
            }
        } catch {
            return nil
        }
        if !isRight { return nil }
    }

    private mutating func readTypes(_ object: JSONSlice) throws -> Bool {
        var isRight = true
        try JSONReader.object(object.raw) { key, value in
            guard let name = key.string, let isOn = value.boolean else {
                isRight = false
                return
            }
            types[name] = isOn
        }
        return isRight
    }

    private mutating func readQuietHours(_ object: JSONSlice) throws -> Bool {
        var isRight = true
        try JSONReader.object(object.raw) { key, value in
            if key.equals("enabled"), let isEnabled = value.boolean {
                quietHours.isEnabled = isEnabled
            } else if key.equals("from"), let minutes = value.string.flatMap(Self.minutes(ofClock:)) {
                quietHours.from = minutes
            } else if key.equals("to"), let minutes = value.string.flatMap(Self.minutes(ofClock:)) {
                quietHours.to = minutes
            } else if key.equals("timeZone"), let name = value.string {
                quietHours.timeZone = name
            } else {
                isRight = false
            }
        }
        return isRight
    }
}
