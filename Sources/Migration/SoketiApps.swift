/// Which apps a configuration of Soketi has, and which members their webhooks have. The names of all values are read once, so
/// that the time does not grow with their number times that of the webhooks.
struct SoketiApps {
    /// A webhook of an app.
    struct Webhook: Hashable {
        let app: Int
        let number: Int
    }

    /// The largest index of an app. A file has at most 20,000 values.
    static let indexMax = 99_999

    /// The different indices of the apps, in ascending order.
    let indices: [Int]
    /// Whether an entry has another index.
    let hasOthers: Bool
    /// The first parts of the names of each webhook's members.
    let webhooks: [Webhook: Set<String>]

    /// - Parameter names: all names of the file, such as `appManager.array.apps.0.webhooks.1.url`.
    init(_ names: [String]) {
        let prefix = "appManager.array.apps."
        var (indices, hasOthers): (Set<Int>, Bool) = ([], false)
        var webhooks: [Webhook: Set<String>] = [:]
        for name in names where name.utf8.starts(with: prefix.utf8) {
            let rest = name.utf8.dropFirst(prefix.utf8.count)
            let parts = rest.split(separator: UInt8(ascii: "."), maxSplits: 4, omittingEmptySubsequences: false)
            guard let index = Self.index(parts[0]) else {
                hasOthers = true
                continue
            }
            indices.insert(index)
            guard parts.count > 3, parts[1].elementsEqual("webhooks".utf8), let number = Self.index(parts[2]) else { continue }
            webhooks[Webhook(app: index, number: number), default: []].insert(String(Substring(parts[3])))
        }
        (self.indices, self.hasOthers, self.webhooks) = (indices.sorted(), hasOthers, webhooks)
    }

    /// A number as JavaScript writes the index of an array: without a sign, and without zeros before it.
    private static func index(_ digits: Substring.UTF8View) -> Int? {
        guard (1...5).contains(digits.count), digits.allSatisfy(\.isDigit) else { return nil }
        guard digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
        return Int(String(Substring(digits)))
    }
}
