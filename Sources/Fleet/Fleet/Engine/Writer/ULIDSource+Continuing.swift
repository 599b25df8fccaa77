import Primitives

extension ULIDSource {
    /// A copy of this source whose next ids are all greater than `id`. If `id` is nil or not a ULID, an unchanged copy.
    func continued(after id: String?) -> ULIDSource {
        guard let id, ULID.isWellFormed(id) else { return self }
        var source = self
        // Uses up an id of the millisecond after `id`: an id of the same millisecond could have a smaller random part.
        _ = source.next(at: Self.time(of: id) + 1)
        return source
    }

    /// A ULID's time in milliseconds since 1970: its first ten digits, five bits each.
    static func time(of id: String) -> Int64 {
        id.utf8.prefix(10).reduce(0) { time, digit in time << 5 | Int64(digits.firstIndex(of: digit) ?? 0) }
    }

    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
}
