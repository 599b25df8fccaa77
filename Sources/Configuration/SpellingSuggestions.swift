/// The names that mean something, in the order they were asked for, and which of them a misspelt one resembles.
struct SpellingSuggestions {
    private(set) var names: [String] = []

    mutating func insert(_ name: String) {
        names.append(name)
    }

    /// The name with the most similar last part, so that a key written in the wrong section is found too; of several,
    /// the most similar as a whole.
    func nearest(to name: String) -> String? {
        let wanted = (last: lastPart(of: name), whole: bytes(of: name[...]))
        var nearest: (name: String, last: Int, whole: Int)?
        var distances: [[UInt8]: Int] = [:]  // by last part: a thousand apps share a few
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

    /// No known name is nearly as long, and the distance is quadratic.
    private func bytes(of name: Substring) -> [UInt8] {
        Array(name.utf8.prefix(100))
    }
}

/// How many bytes to insert, remove or replace to make one text the other (Levenshtein), a row of the table at a time.
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
