import JSON

/// The sum of several nodes' answers to `GET /api/ops/stats`, under the same names.
///
/// Numbers are added, but for those of the common database and for times, of which the largest counts. The nodes and the loops
/// of all nodes stand in the order of the nodes' names; applications and legacy rules are added by their places, because all
/// nodes list them in one order.
enum StatsSum {
    private indirect enum Value {
        case number(Int)
        case object([(name: String, value: Value)])
        case array([Value])
        case other([UInt8])

        subscript(name: String) -> Value? {
            if case .object(let members) = self { members.first { $0.name == name }?.value } else { nil }
        }

        /// The name of the node whose answer this is; empty without one.
        var node: String {
            guard case .array(let nodes)? = self["nodes"], case .other(let name)? = nodes.first?["node"] else { return "" }
            return String(decoding: name, as: UTF8.self)
        }
    }

    /// Members that all nodes read from the database, or that are times.
    private static let largest: Set<String> = ["unconfirmed", "queued", "p50Ms", "p99Ms"]

    /// - Parameter answers: at least one; each a JSON object.
    /// - Returns: nil if one of them is not JSON.
    static func json(_ answers: [[UInt8]]) -> [UInt8]? {
        var sum: Value?
        var values: [(node: String, value: Value)] = []
        for answer in answers {
            guard let value = answer.withUnsafeBytes({ bytes in (try? JSONReader.value(bytes)).flatMap(read) }) else {
                return nil
            }
            values.append((value.node, value))
        }
        // The order is the same, whichever node answers.
        for (_, value) in values.sorted(by: { $0.node < $1.node }) { sum = sum.map { add($0, value, name: "") } ?? value }
        guard let sum else { return nil }
        var json = JSONWriter(capacity: 4_096)
        write(sum, &json)
        return json.bytes
    }

    private static func read(_ slice: JSONSlice) -> Value? {
        switch slice.kind {
        case .number: return slice.integer.map(Value.number) ?? .other(Array(slice.raw))
        case .object:
            var members: [(name: String, value: Value)] = []
            try? JSONReader.object(slice.raw) { key, value in
                if let name = key.string, let value = read(value) { members.append((name, value)) }
            }
            return .object(members)
        case .array:
            var elements: [Value] = []
            try? JSONReader.array(slice.raw) { if let value = read($0) { elements.append(value) } }
            return .array(elements)
        case .string, .boolean, .null: return .other(Array(slice.raw))
        }
    }

    private static func add(_ one: Value, _ other: Value, name: String) -> Value {
        switch (one, other) {
        case (.number(let one), .number(let other)):
            return .number(largest.contains(name) || name.hasPrefix("devices.") ? max(one, other) : one &+ other)
        case (.object(var members), .object(let others)):
            for (key, value) in others {
                let path = name == "devices" ? "devices.\(key)" : key
                if let index = members.firstIndex(where: { $0.name == key }) {
                    members[index].value = add(members[index].value, value, name: path)
                } else {
                    members.append((key, value))
                }
            }
            return .object(members)
        case (.array(let one), .array(let other)):
            guard name == "apps" || name == "legacy", one.count == other.count else { return .array(one + other) }
            return .array(zip(one, other).map { add($0, $1, name: "") })
        default: return one
        }
    }

    private static func write(_ value: Value, _ json: inout JSONWriter) {
        switch value {
        case .number(let number): json.integer(number)
        case .other(let raw): json.raw(raw)
        case .object(let members):
            json.object {
                for (name, value) in members {
                    $0.key(name)
                    write(value, &$0)
                }
            }
        case .array(let elements): json.array(elements) { write($1, &$0) }
        }
    }
}
