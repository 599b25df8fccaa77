import Yams

/// A map of the configuration. There is a method for each kind of value; its arguments are the key, the Swift variable
/// to set (`target`), and the valid values.
///
/// An absent key leaves `target` unchanged. A key that no method has read is reported as unknown at the end. Every key
/// that is not inside a list can be overridden by an environment variable; for example, `FLEETWIRE_SERVER_PORT`
/// overrides `server.port`.
final class Section {
    let reader: SettingsReader
    /// The map's path, such as `apps[0].limits`; empty for the whole file.
    let path: String
    /// The line at which problems of the map as a whole are reported; nil if unknown.
    let line: Int?
    /// The path of the list that contains this map; nil if none does. Some values, such as ids, must be unique within
    /// the list. Environment variables cannot override values inside a list.
    let list: String?
    /// The entries that no method has read yet.
    private(set) var unread: [Entry] = []

    struct Entry {
        let key: String
        let value: Node
        /// The line of the key. The value may have another line: an alias (`*name`) has the line of its anchor
        /// (`&name`).
        let line: Int?
    }

    /// - Parameter node: nil and YAML's null count as a map without keys. Any other node that is not a map is reported.
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
                reader.report("expected a string as a key, found \(key.kind)", at: reader.location(path, key.mark?.line))
            }
        }
    }

    /// Runs `read`. Then reports the keys of this map that `read` did not consume: they are unknown.
    func readKeys(_ read: (Section) -> Void) {
        read(self)
        for entry in unread {
            reader.reportUnknown(reader.location(path(to: QuotedValue.ofKey(entry.key)), entry.line))
        }
    }

    /// Removes the key and its value from ``unread`` and returns them; nil if the map does not have the key.
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
    /// Reads a map inside this one. If that map is absent, `read` still runs, because environment variables may set
    /// values of the map.
    func section(_ key: String, read: (Section) -> Void) {
        reader.keys.insert(path(to: key))
        let entry = consume(key)
        Section(entry?.value, path: path(to: key), line: entry?.line ?? line, list: list, reader: reader).readKeys(read)
    }

    /// Reads a list of maps, which replaces the content of `target`. Rejects an empty list unless `mayBeEmpty`, and a
    /// list of more than `countMax` maps.
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
            let problem = "expected a list of at most \(countMax) maps, found a list of \(nodes.count)"
            return reader.report(problem, at: reader.location(list, entry.line))
        }
        elements(nodes, of: list, into: &target, read)
    }

    /// Reads either a single map or a list of at least one map. Environment variables can override the values of a
    /// single map, but not those in a list.
    /// - Parameter read: reads one map. `isOnly` is true for a single map, and for the only map in a list.
    func oneOrMore<Element>(
        _ key: String, into target: inout [Element], of read: (Section, _ isOnly: Bool) -> Element
    ) {
        guard let entry = unread.first(where: { $0.key == key }), case .sequence(let nodes) = entry.value else {
            return section(key) { target = [read($0, true)] }
        }
        list(key, into: &target) { read($0, nodes.count == 1) }
    }

    /// Reads all entries of this map, whose keys are names that the operator chooses. Reports each key that `rule`
    /// rejects. Each value must be a map.
    func entries(named rule: StringRule, read: (_ name: String, Section) -> Void) {
        for entry in unread where !reader.hasReachedProblemsMax {
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
        for (index, node) in nodes.enumerated() where !reader.hasReachedProblemsMax {
            let path = "\(list)[\(index)]"
            guard case .mapping = node else {
                reader.report("expected a map, found \(node.kind)", at: reader.location(path, node.mark?.line))
                continue
            }
            Section(node, path: path, list: list, reader: reader).readKeys { target.append(read($0)) }
        }
    }
}
