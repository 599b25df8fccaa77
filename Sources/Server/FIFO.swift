/// A first-in, first-out queue in one array. All operations take constant amortised time.
struct FIFO<Element> {
    private var elements: [Element] = []
    /// The index of the first element that is not removed.
    private var start = 0

    var count: Int { elements.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        defer { removeFirst() }
        return elements[start]
    }

    private mutating func removeFirst() {
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: true)
            start = 0
        } else if start >= 1_024, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
    }
}
