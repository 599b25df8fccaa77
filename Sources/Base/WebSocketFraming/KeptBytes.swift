/// Bytes that a ``FrameDecoder`` keeps from one call to the next. Copies share memory until one of them changes.
///
/// An array would not do: the decoder hands out the address of the bytes, which an array guarantees only within a
/// closure.
struct KeptBytes {
    private final class Memory {
        let buffer: UnsafeMutableRawBufferPointer
        init(capacity: Int) { buffer = .allocate(byteCount: capacity, alignment: MemoryLayout<UInt64>.alignment) }
        deinit { buffer.deallocate() }
    }

    private var memory: Memory?
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Bytes of memory in use.
    var capacity: Int { memory?.buffer.count ?? 0 }

    /// The bytes, valid until the next change.
    var bytes: UnsafeRawBufferPointer {
        guard let memory else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(rebasing: memory.buffer[..<count])
    }

    /// Appends a copy of `bytes`. The memory grows to twice what is kept, but not beyond `countMax`: what a client
    /// announces costs no memory until the client has sent half of it.
    /// - Parameter countMax: the bytes that will be kept in the end, at most. Not below the count that results.
    mutating func append(_ bytes: UnsafeRawBufferPointer, countMax: Int) {
        guard !bytes.isEmpty else { return }
        let newCount = count + bytes.count
        if capacity < newCount || !isKnownUniquelyReferenced(&memory) {
            let grown = Memory(capacity: min(countMax, max(2 * newCount, 64)))
            grown.buffer.copyMemory(from: self.bytes)
            memory = grown
        }
        UnsafeMutableRawBufferPointer(rebasing: memory!.buffer[count...]).copyMemory(from: bytes)
        count = newCount
    }

    /// Removes all bytes and frees their memory.
    mutating func removeAll() { self = KeptBytes() }
}
