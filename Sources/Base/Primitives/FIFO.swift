/// A first-in, first-out queue in one array. All operations take constant amortised time.
///
/// Inlinable, because the compiler specialises a generic type of another module only then.
@usableFromInline package struct FIFO<Element> {
    /// Nil: removed. Its memory is freed later, but what it refers to at once.
    @usableFromInline var elements: [Element?] = []
    /// The index of the first element that is not removed.
    @usableFromInline var start = 0

    /// An empty queue keeps memory for so many elements at most.
    @inlinable static var keptCapacityMax: Int { 16_384 }

    /// Creates an empty queue.
    @inlinable package init() {}

    /// The number of elements.
    @inlinable package var count: Int { elements.count - start }
    /// Whether there are no elements.
    @inlinable package var isEmpty: Bool { count == 0 }
    /// The element that ``popFirst()`` removes next; nil if there is none.
    @inlinable package var first: Element? { isEmpty ? nil : elements[start] }

    /// Adds an element as the last one.
    @inlinable package mutating func append(_ element: Element) { elements.append(element) }

    /// Removes and returns the first element; nil if there is none.
    @inlinable package mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[start].take()
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= FIFO.keptCapacityMax)
            start = 0
        } else if start >= 1_024, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }
}

extension FIFO: Sendable where Element: Sendable {}
