/// A set of event loops, by index, iterated in ascending order.
package struct LoopSet: Equatable, Sendable, Sequence, ExpressibleByArrayLiteral {
    /// The maximum number of loops of a gateway: the set uses one bit per loop.
    package static let loopsMax = 64

    private var bits: UInt64 = 0

    /// The empty set.
    package init() {}

    /// A set of loop indices, each 0 to 63.
    package init(arrayLiteral loops: Int...) {
        for loop in loops { insert(loop) }
    }

    /// Whether the set has no members.
    package var isEmpty: Bool { bits == 0 }

    /// Adds a loop (0–63). Does nothing if it is a member.
    package mutating func insert(_ loop: Int) { bits |= 1 << UInt64(loop) }

    /// Removes a loop (0–63). Does nothing if it is not a member.
    package mutating func remove(_ loop: Int) { bits &= ~(1 << UInt64(loop)) }

    /// Adds the members of another set.
    package mutating func formUnion(_ other: LoopSet) { bits |= other.bits }

    /// Iterates over the members, lowest first.
    package func makeIterator() -> Iterator { Iterator(bits: bits) }

    /// Iterates over the positions of the bits that are 1, lowest first.
    package struct Iterator: IteratorProtocol {
        fileprivate var bits: UInt64

        /// The next member; nil after the last.
        package mutating func next() -> Int? {
            guard bits != 0 else { return nil }
            defer { bits &= bits &- 1 }  // clears the lowest 1 bit
            return bits.trailingZeroBitCount
        }
    }
}
