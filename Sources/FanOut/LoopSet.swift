/// A set of loops, iterated in ascending order.
package struct LoopSet: Equatable, Sendable, Sequence, ExpressibleByArrayLiteral {
    /// The most loops of a node: one bit each.
    package static let loopsMax = 64

    private var bits: UInt64 = 0

    package init() {}

    package init(arrayLiteral loops: Int...) {
        for loop in loops { insert(loop) }
    }

    package var isEmpty: Bool { bits == 0 }

    package mutating func insert(_ loop: Int) { bits |= 1 << UInt64(loop) }

    package mutating func remove(_ loop: Int) { bits &= ~(1 << UInt64(loop)) }

    package mutating func formUnion(_ other: LoopSet) { bits |= other.bits }

    package func makeIterator() -> Iterator { Iterator(bits: bits) }

    package struct Iterator: IteratorProtocol {
        fileprivate var bits: UInt64

        package mutating func next() -> Int? {
            guard bits != 0 else { return nil }
            defer { bits &= bits &- 1 }  // clears the lowest bit set
            return bits.trailingZeroBitCount
        }
    }
}
