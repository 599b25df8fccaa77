/// A set of small numbers, one bit each.
struct NumberSet: Equatable {
    private var words: [UInt64] = []

    /// - Returns: whether the number was not in the set.
    @discardableResult
    mutating func insert(_ number: Int) -> Bool {
        let (word, bit) = (number >> 6, UInt64(1) << UInt64(number & 63))
        while words.count <= word { words.append(0) }
        guard words[word] & bit == 0 else { return false }
        words[word] |= bit
        return true
    }

    func contains(_ number: Int) -> Bool {
        number >> 6 < words.count && words[number >> 6] & UInt64(1) << UInt64(number & 63) != 0
    }

    var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// The number of members that another set has, too.
    func count(in other: NumberSet) -> Int { zip(words, other.words).reduce(0) { $0 + ($1.0 & $1.1).nonzeroBitCount } }
}
