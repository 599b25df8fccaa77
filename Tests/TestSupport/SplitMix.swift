/// SplitMix64 (Steele, Lea and Flood, 2014): a seeded generator whose sequence is the same on every machine.
package struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    /// Equal seeds give equal sequences.
    package init(seed: UInt64) { state = seed }

    /// Sixty-four random bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// A number from 0 up to, but not including, `bound`.
    package mutating func below(_ bound: Int) -> Int {
        precondition(bound > 0, "SplitMix.below was called with the bound \(bound), which is not positive")
        return Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// A number in `range`.
    package mutating func within(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

    /// True with a probability of `percent` in 100.
    package mutating func chance(percent: Int) -> Bool { below(100) < percent }

    /// One of `elements`; nil if there are none.
    package mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }
}
