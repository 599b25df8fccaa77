import PusherProtocol

/// FNV-1a with the finaliser of MurmurHash3: all nodes must compute the same hashes, whatever their version of Swift.
struct StableHash {
    private var state: UInt64

    init(seed: UInt64) { state = 0xcbf2_9ce4_8422_2325 ^ seed }

    /// Adds a text and its end, so that two texts in a row cannot be taken for two others.
    mutating func add(_ text: String) {
        for byte in text.utf8 { add(byte: byte) }
        add(byte: 0xff)
    }

    mutating func add(_ number: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) { add(byte: UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func add(byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }

    var value: UInt64 { Self.mix(state) }

    /// Spreads the bits of a number over all bits of the result.
    static func mix(_ number: UInt64) -> UInt64 {
        var hash = (number ^ number >> 33) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
        return hash ^ hash >> 33
    }
}
