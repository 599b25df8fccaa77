import Yams

/// A map of the configuration. Each call reads one key: it names the key, the target, and the valid values.
///
/// An absent key leaves its target unchanged. Keys that no call has read are reported as unknown at the end. Outside
/// lists, an environment variable overrides the value: `FLEETWIRE_SERVER_PORT` that of `server.port`.
final class Section {
    let reader: SettingsReader
    /// The map's path, such as `apps[0].limits`; empty for the whole file.
    let path: String
    let line: Int?
    /// The path of the list that contains this map, if any. Values are unique within it; variables do not reach it.
    let list: String?
    private(set) var unread: [Entry] = []

    struct Entry {
        let key: String
        let value: Node
        /// The line of the key. The value may be on another line: an alias has the line of its anchor.
        let line: Int?
    }

    /// - Parameter node: nil or YAML's null counts as a map without keys. Other nodes that are not maps are reported.
    init(_ node: Node?, path: String = "", line: Int? = nil, list: String? = nil, reader: SettingsReader) {
        self.reader = reader
        self.path = path
        self.line = line ?? node?.mark?.line
        self.list = list
        guard let node, !node.isNothing else { return }
        guard case .mapping(let map) = node else {
            reader.report("expected a map, found \(node.kind)", at: reader.location(path, self.line))
            return
        }
        for (key, value) in map {
            if let name = key.scalar?.string {
                unread.append(Entry(key: name, value: value, line: key.mark?.line))
            } else {
                reader.report("expected a key, found \(key.kind)", at: reader.location(path, key.mark?.line))
            }
        }
    }

    /// Reads this map's keys, then reports keys that `read` has not read as unknown.
    func readKeys(_ read: (Section) -> Void) {
        read(self)
        for entry in unread {
            reader.reportUnknown(reader.location(path(to: QuotedValue.ofKey(entry.key)), entry.line))
        }
    }

    /// Removes the key and its value from the map and returns them.
    func consume(_ key: String) -> Entry? {
        unread.firstIndex { $0.key == key }.map { unread.remove(at: $0) }
    }

    /// The path of one of this map's keys.
    func path(to key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }
}

// MARK: Maps and lists

extension Section {
    /// Reads a map inside this one. If it is absent, `read` still runs: variables may set its values.
    func section(_ key: String, read: (Section) -> Void) {
        reader.keys.insert(path(to: key))
        let entry = consume(key)
        Section(entry?.value, path: path(to: key), line: entry?.line ?? line, list: list, reader: reader).readKeys(read)
    }

    /// Reads a list of maps, which replaces the default. It must have at least one element unless `mayBeEmpty`, and at
    /// most `countMax`.
    func list<Element>(
        _ key: String, into target: inout [Element], mayBeEmpty: Bool = false, countMax: Int = .max,
        of read: (Section) -> Element
    ) {
        let list = path(to: key)
        reader.keys.insert(list)
        if self.list == nil { reader.lists.append(list) }
        guard let entry = consume(key) else { return }
        guard case .sequence(let nodes) = entry.value, mayBeEmpty || !nodes.isEmpty else {
            let expected = mayBeEmpty ? "a list of maps" : "a list of at least one map"
            return reader.report("expected \(expected), found \(entry.value.kind)", at: reader.location(list, entry.line))
        }
        guard nodes.count <= countMax else {
            let problem = "expected a list of at most \(countMax) maps, found one of \(nodes.count)"
            return reader.report(problem, at: reader.location(list, entry.line))
        }
        elements(nodes, of: list, into: &target, read)
    }

    /// Reads one map, whose values variables may override, or a list of at least one map. `isOnly` is true if there is
    /// one map.
    func oneOrMore<Element>(
        _ key: String, into target: inout [Element], of read: (Section, _ isOnly: Bool) -> Element
    ) {
        guard let entry = unread.first(where: { $0.key == key }), case .sequence(let nodes) = entry.value else {
            return section(key) { target = [read($0, true)] }
        }
        list(key, into: &target) { read($0, nodes.count == 1) }
    }

    /// Reads all entries of a map whose keys are chosen by the file, if `rule` accepts them. Each value must be a map.
    func entries(named rule: StringRule, read: (_ name: String, Section) -> Void) {
        for entry in unread where !reader.isFull {
            let path = path(to: QuotedValue.ofKey(entry.key))
            _ = consume(entry.key)
            guard rule.accepts(entry.key) else {
                reader.report("expected \(rule.expected)", at: reader.location(path, entry.line))
                continue
            }
            reader.keys.insert(path)
            Section(entry.value, path: path, line: entry.line, list: list, reader: reader).readKeys { read(entry.key, $0) }
        }
    }

    private func elements<Element>(
        _ nodes: Node.Sequence, of list: String, into target: inout [Element], _ read: (Section) -> Element
    ) {
        target = []
        for (index, node) in nodes.enumerated() where !reader.isFull {
            let path = "\(list)[\(index)]"
            guard case .mapping = node else {
                reader.report("expected a map, found \(node.kind)", at: reader.location(path, node.mark?.line))
                continue
            }
            Section(node, path: path, list: list, reader: reader).readKeys { target.append(read($0)) }
        }
    }
}
