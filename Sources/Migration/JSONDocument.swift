import JSON

/// What all JSON files have in common.
enum JSONDocument {
    /// The names of an object's members, at most 1,000 of at most 200 bytes.
    /// - Throws: ``MigrationError`` if the bytes are no JSON object.
    static func members(of object: [UInt8]) throws(MigrationError) -> [String] {
        var names: [String] = []
        try read {
            try object.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { name, _ in
                    if names.count < 1_000, let name = name.string(cutAbove: 200) { names.append(name) }
                }
            }
        }
        return names
    }

    /// The scalars of an object at any depth, with their paths: `apps.0.key`.
    /// - Throws: ``MigrationError`` if the bytes are no JSON, or there are too many scalars.
    static func scalars(of object: [UInt8]) throws(MigrationError) -> [(path: String, value: String)] {
        var scalars: [(path: String, value: String)] = []
        var places: [Place] = []
        try read {
            try object.withUnsafeBytes { bytes in
                try JSONReader.tokens(bytes) { token in
                    switch token {
                    case .objectStart: places.append(Place(isArray: false))
                    case .arrayStart: places.append(Place(isArray: true))
                    case .objectEnd, .arrayEnd:
                        places.removeLast()
                        Place.advance(&places)
                    case .name(let name): places[places.count - 1].name = name.string(cutAbove: 200) ?? ""
                    case .scalar(let value):
                        guard scalars.count < 20_000 else { throw MigrationError("more than 20,000 values") }
                        let text =
                            value.kind == .string
                            ? value.string(cutAbove: 4_096) ?? "" : String(decoding: value.raw, as: UTF8.self)
                        scalars.append((places.map(\.text).joined(separator: "."), text))
                        Place.advance(&places)
                    }
                }
            }
        }
        return scalars
    }

    /// Where a reader is in one container.
    private struct Place {
        let isArray: Bool
        var name = ""
        var index = 0

        var text: String { isArray ? String(index) : name }

        /// Goes on behind a value.
        static func advance(_ places: inout [Place]) {
            guard let last = places.indices.last, places[last].isArray else { return }
            places[last].index += 1
        }
    }

    /// Calls `use`, whose errors become a ``MigrationError``.
    static func read(_ use: () throws -> Void) throws(MigrationError) {
        do {
            try use()
        } catch let error as MigrationError {
            throw error
        } catch let error as JSONError {
            throw MigrationError("invalid JSON: \(error.problem) at byte \(error.offset)")
        } catch {
            throw MigrationError("\(error)")
        }
    }
}
