import JSON

/// The numbers and texts of a JSON object, by their paths: `messages.sent`, `loops.0.mailbox`.
///
/// A gateway of another version may lack some or have others, so every figure is optional.
package struct Figures: Equatable, Sendable {
    private var numbers: [String: Int] = [:]
    private var texts: [String: String] = [:]

    /// Nil unless the text is a JSON object.
    package init?(json: [UInt8]) {
        do {
            try json.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in try add(key.string ?? "", value) }
            }
        } catch { return nil }
    }

    private mutating func add(_ path: String, _ value: JSONSlice) throws {
        switch value.kind {
        case .number: numbers[path] = value.integer
        case .string: texts[path] = value.string
        case .object: try JSONReader.object(value.raw) { key, value in try add("\(path).\(key.string ?? "")", value) }
        case .array:
            var index = 0
            try JSONReader.array(value.raw) { element in
                try add("\(path).\(index)", element)
                index += 1
            }
        case .boolean, .null: break
        }
    }

    package subscript(path: String) -> Int? { numbers[path] }

    package func text(_ path: String) -> String? { texts[path] }

    /// The indices of an array of objects that each have this member.
    func indices(of array: String, with member: String) -> [Int] {
        Array((0...).lazy.prefix { numbers["\(array).\($0).\(member)"] != nil || texts["\(array).\($0).\(member)"] != nil })
    }

    /// The numbers directly below a path: of `closes`, those of `closes.1000` and so on, by their last name.
    package func numbers(below path: String) -> [(name: String, value: Int)] {
        numbers.compactMap { entry in
            guard entry.key.hasPrefix(path + ".") else { return nil }
            let name = entry.key.dropFirst(path.count + 1)
            return name.contains(".") ? nil : (String(name), entry.value)
        }
    }
}

/// What a gateway said at one moment.
package struct Sample: Equatable, Sendable {
    /// Milliseconds of a clock that never decreases.
    package let milliseconds: Int64
    /// The response of `GET /api/ops/stats?cluster=true`.
    package let stats: Figures
    /// The response of `GET /api/ops/push`; nil if there is none.
    package let push: Figures?
    /// The names of the cluster's nodes, in the order of ``stats``; empty without a cluster.
    package let nodes: [String]

    package init(milliseconds: Int64, stats: Figures, push: Figures?) {
        (self.milliseconds, self.stats, self.push) = (milliseconds, stats, push)
        nodes = stats.indices(of: "nodes", with: "node").map { stats.text("nodes.\($0).node") ?? "" }
    }

    /// How fast a counter of the stats grew since an earlier sample, per second. Nil without such a counter, and if the
    /// gateway was started again, or a node came or went, in between.
    package func rate(_ path: String, since earlier: Sample?) -> Double? {
        guard let earlier, nodes == earlier.nodes, let now = stats[path], let before = earlier.stats[path], now >= before,
            milliseconds > earlier.milliseconds
        else { return nil }
        return Double(now - before) * 1_000 / Double(milliseconds - earlier.milliseconds)
    }
}
