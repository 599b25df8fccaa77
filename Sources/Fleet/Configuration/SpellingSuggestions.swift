/// Finds the known name that a misspelt name resembles most.
struct SpellingSuggestions {
    /// The known names in the order of insertion.
    private(set) var names: [String] = []

    mutating func insert(_ name: String) {
        names.append(name)
    }

    /// The known name whose last part (after the last dot) is most similar, so that a key in the wrong section is
    /// found, too. Among equally similar last parts, the name that is most similar as a whole. Nil if no name is known.
    func nearest(to name: String) -> String? {
        let wanted = (last: lastPart(of: name), whole: bytes(of: name[...]))
        var nearest: (name: String, last: Int, whole: Int)?
        var distances: [[UInt8]: Int] = [:]  // By last part, because a thousand apps share a few last parts.
        for known in names {
            let part = lastPart(of: known)
            let last = distances[part] ?? editDistance(part, wanted.last)
            distances[part] = last
            if let nearest, nearest.last < last { continue }
            let whole = editDistance(bytes(of: known[...]), wanted.whole)
            if nearest.map({ (last, whole) < ($0.last, $0.whole) }) ?? true { nearest = (known, last, whole) }
        }
        return nearest?.name
    }

    private func lastPart(of name: String) -> [UInt8] {
        bytes(of: name.lastIndex(of: ".").map { name[$0...].dropFirst() } ?? name[...])
    }

    /// The first 100 bytes of a name. Longer names are cut off because the edit distance takes quadratic time; all
    /// known names are shorter.
    private func bytes(of name: Substring) -> [UInt8] {
        Array(name.utf8.prefix(100))
    }
}

/// The Levenshtein distance: the fewest bytes to insert, delete or replace that turn `source` into `target`. Stores
/// only one row of the algorithm's table.
func editDistance(_ source: [UInt8], _ target: [UInt8]) -> Int {
    var row = Array(0...target.count)
    for (i, byte) in source.enumerated() {
        var diagonal = row[0]
        row[0] = i + 1
        for (j, other) in target.enumerated() {
            let replaced = diagonal + (byte == other ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, diagonal + 1, row[j] + 1)
        }
    }
    return row[target.count]
}
