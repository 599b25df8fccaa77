// Tables keep the memory that they needed at their largest. One that has had hundreds of thousands of elements, and has few
// now, gives it back. Few, because the elements are copied meanwhile, which must not take long.

extension Int {
    /// Whether a table with so many places has far more than its elements need, and few enough elements to be copied.
    package func isSpare(for count: Int) -> Bool { self > 16_384 && count <= 4_096 }
}

extension Array {
    /// Gives back memory that the array needed for elements that are gone.
    /// - Returns: whether it has: the array was far larger, and has few elements now.
    package mutating func releaseSpareCapacity() -> Bool {
        guard capacity.isSpare(for: count) else { return false }
        // A copy with `Array(self)` would share the memory.
        var copy: [Element] = []
        copy.reserveCapacity(count)
        copy.append(contentsOf: self)
        self = copy
        return true
    }
}

extension Dictionary {
    /// Gives back memory that the dictionary needed for elements that are gone.
    /// - Returns: whether it has: the dictionary was far larger, and has few elements now.
    package mutating func releaseSpareCapacity() -> Bool {
        guard capacity.isSpare(for: count) else { return false }
        var copy = Dictionary(minimumCapacity: count)
        for (key, value) in self { copy[key] = value }
        self = copy
        return true
    }
}

extension Set {
    /// Gives back memory that the set needed for elements that are gone.
    /// - Returns: whether it has: the set was far larger, and has few elements now.
    package mutating func releaseSpareCapacity() -> Bool {
        guard capacity.isSpare(for: count) else { return false }
        var copy = Set(minimumCapacity: count)
        for element in self { copy.insert(element) }
        self = copy
        return true
    }
}
