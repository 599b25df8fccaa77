import JSON

/// The push preferences of users. A user who has never changed a preference has no row.
struct PreferenceTable {
    let database: Database

    /// A user's preferences as stored JSON; nil if none are stored.
    func json(of owner: String) throws(DatabaseError) -> [UInt8]? {
        try database.first("SELECT json FROM preferences WHERE owner = ?", .string(owner), as: { $0.bytes(0) })
    }

    func store(_ preferences: Preferences, of owner: String, now: Int64) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO preferences (owner, json, updated_at) VALUES (?, ?, ?) \
            ON CONFLICT (owner) DO UPDATE SET json = excluded.json, updated_at = excluded.updated_at
            """, .string(owner), .utf8(preferences.json), .integer(now))
    }

    /// - Returns: the number of deleted rows, 0 or 1.
    func remove(of owner: String) throws(DatabaseError) -> Int {
        try database.changeCountingRows("DELETE FROM preferences WHERE owner = ?", .string(owner))
    }
}

extension Preferences {
    var json: [UInt8] {
        var json = JSONWriter()
        write(to: &json)
        return json.bytes
    }

    /// Parses the JSON that ``write(to:)`` writes. Nil if the text is not a JSON object, or if `types` or `quietHours`
    /// has an unexpected structure.
    init?(json: [UInt8]) {
        self.init()
        var isValid = true
        do {
            try json.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in
                    if key.equals("types") {
                        isValid = try readTypes(value) && isValid
                    } else if key.equals("quietHours") {
                        isValid = try readQuietHours(value) && isValid
                    }
                }
            }
        } catch {
            return nil
        }
        if !isValid { return nil }
    }

    private mutating func readTypes(_ object: JSONSlice) throws -> Bool {
        var isValid = true
        try JSONReader.object(object.raw) { key, value in
            guard let name = key.string, let isOn = value.boolean else {
                isValid = false
                return
            }
            types[name] = isOn
        }
        return isValid
    }

    private mutating func readQuietHours(_ object: JSONSlice) throws -> Bool {
        var isValid = true
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
                isValid = false
            }
        }
        return isValid
    }
}
