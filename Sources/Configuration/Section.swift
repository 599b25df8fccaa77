import Yams

/// A map of the configuration. Each call reads one key: it names the key, the target, and the valid values.
///
/// An absent key leaves its target unchanged. Keys that no call has read are reported as unknown at the end. Outside
/// lists, an environment variable overrides the value: `FLEETWIRE_` and the path in capitals.
final class Section {
    let reader: SettingsReader
    /// The map's path, such as `apps[0].limits`; empty for the whole file.
    let path: String
    let line: Int?
    /// The path of the list that contains this map, if any. Uniqueness applies within it, and variables do not reach it.
    let list: String?
    private(set) var unread: [Entry] = []

    struct Entry {
        let key: String
        let value: Node
        /// The line of the key; that of the value would be elsewhere if it is an alias.
        let line: Int?
    }

    /// - Parameter node: nil or empty is a map without keys; anything but a map is reported.
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

    /// Reads this map's keys, and reports those that `read` has left as unknown.
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

    func path(to key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }
}

// MARK: Maps and lists

extension Section {
    /// A map inside this one.
    func section(_ key: String, read: (Section) -> Void) {
        reader.keys.insert(path(to: key))
        let entry = consume(key)
        Section(entry?.value, path: path(to: key), line: entry?.line ?? line, list: list, reader: reader).readKeys(read)
    }

    /// A list of maps, which replaces the default. It has at least one unless `mayBeEmpty`, and at most `countMax`.
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

    /// One map, which variables may override, or a list of at least one. `isOnly` is true if there is one element.
    func oneOrMore<Element>(
        _ key: String, into target: inout [Element], of read: (Section, _ isOnly: Bool) -> Element
    ) {
        guard let entry = unread.first(where: { $0.key == key }), case .sequence(let nodes) = entry.value else {
            return section(key) { target = [read($0, true)] }
        }
        list(key, into: &target) { read($0, nodes.count == 1) }
    }

    /// All entries of a map whose keys the file chooses. Each value is a map.
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
