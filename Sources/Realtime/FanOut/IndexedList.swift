/// A list of distinct elements in which an element is found and removed in constant time.
///
/// A removal moves the last element into the gap, so the order depends on the appends and removals only. It never
/// depends on hashing, so effects that follow the order are deterministic.
package struct IndexedList<Element: Hashable> {
    package private(set) var elements: [Element] = []
    /// The index of each element in `elements`; empty while the list is short, because searching a short array is
    /// faster and takes no memory.
    private var positions: [Element: Int32] = [:]

    /// A list with more elements has `positions`. It keeps them until it has less than half as many, so that a list
    /// whose length goes up and down does not build them again and again.
    private static var searchedCountMax: Int { 32 }

    package init() {}

    package var isEmpty: Bool { elements.isEmpty }
    package var count: Int { elements.count }

    package func contains(_ element: Element) -> Bool { position(of: element) != nil }

    /// Appends an element, which must not be in the list.
    package mutating func append(_ element: Element) {
        elements.append(element)
        if !positions.isEmpty {
            positions[element] = Int32(elements.count - 1)
        } else if elements.count > Self.searchedCountMax {
            for (index, element) in elements.enumerated() { positions[element] = Int32(index) }
        }
    }

    /// Removes an element.
    /// - Returns: whether it was in the list.
    package mutating func remove(_ element: Element) -> Bool {
        guard let index = position(of: element) else { return false }
        let last = elements.removeLast()
        if index < elements.count { elements[index] = last }
        if elements.isEmpty { elements = [] }  // frees the memory: most lists never get another element
        guard !positions.isEmpty else { return true }
        positions[last] = Int32(index)
        positions[element] = nil
        if elements.count < Self.searchedCountMax / 2 { positions = [:] }
        return true
    }

    private func position(of element: Element) -> Int? {
        positions.isEmpty ? elements.firstIndex(of: element) : positions[element].map(Int.init)
    }
}
