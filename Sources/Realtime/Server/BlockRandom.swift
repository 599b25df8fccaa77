import CLinux

/// The kernel's random numbers, drawn 4 KiB at a time: `SystemRandomNumberGenerator` makes a system call per number,
/// which was one of a connection's 14.
package struct BlockRandom: RandomNumberGenerator {
    private static let count = 512

    private var numbers = [UInt64](repeating: 0, count: count)
    /// The index of the next number to return.
    private var position = count

    package init() {}

    package mutating func next() -> UInt64 {
        if position == Self.count {
            fill()
            position = 0
        }
        defer {
            numbers[position] = 0  // a number that was used cannot be read from memory later
            position += 1
        }
        return numbers[position]
    }

    private mutating func fill() {
        numbers.withUnsafeMutableBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = UnsafeMutableRawBufferPointer(rebasing: rest)
                let count = getrandom(part.baseAddress, UInt(part.count), 0)  // a signal may end it early
                precondition(count > 0, "getrandom: it fails only without a kernel that has it")
                rest = rest.dropFirst(count)
            }
        }
    }
}
