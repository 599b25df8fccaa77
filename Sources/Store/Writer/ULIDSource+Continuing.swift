import Primitives

extension ULIDSource {
    /// The same source, having come past an id that another one made.
    func continued(after id: String?) -> ULIDSource {
        guard let id, ULID.isWellFormed(id) else { return self }
        var source = self
        // One millisecond on: within it, chance might fall below what it was.
        _ = source.next(at: Self.time(of: id) + 1)
        return source
    }

    /// Its first ten digits of five bits each: milliseconds since 1970.
    private static func time(of id: String) -> Int64 {
        id.utf8.prefix(10).reduce(0) { time, digit in time << 5 | Int64(digits.firstIndex(of: digit) ?? 0) }
    }

    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
}
