/// The values that were used lately, of a bounded number.
///
/// When half of the places are taken since the last time, the values that were not used since then are forgotten: that
/// costs constant time per use, and keeps those in use. Inlinable, because the compiler specialises a generic type of
/// another module only then.
@usableFromInline package struct RecentMap<Key: Hashable, Value> {
    @usableFromInline let countMax: Int
    @usableFromInline var recent: [Key: Value] = [:]
    /// Those that ``recent`` contained before it was full.
    @usableFromInline var earlier: [Key: Value] = [:]

    /// - Parameter countMax: the most values, at least 2.
    @inlinable package init(countMax: Int) { self.countMax = countMax }

    /// The number of values.
    @inlinable package var count: Int { recent.count + earlier.count }

    /// A key's value, which is then in use; nil if there is none.
    @inlinable package mutating func use(_ key: Key) -> Value? {
        if let value = recent[key] { return value }
        guard let value = earlier[key] else { return nil }
        store(value, for: key)
        return value
    }

    /// Sets a key's value, which is then in use.
    @inlinable package mutating func store(_ value: Value, for key: Key) {
        if recent.count >= countMax / 2, recent[key] == nil {
            earlier = recent
            recent = [:]
        }
        earlier[key] = nil
        recent[key] = value
    }

    /// Forgets a key's value.
    @inlinable package mutating func remove(_ key: Key) {
        recent[key] = nil
        earlier[key] = nil
    }
}

extension RecentMap: Sendable where Key: Sendable, Value: Sendable {}
