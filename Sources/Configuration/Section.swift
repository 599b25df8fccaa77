import Yams

/// A map of the configuration while its keys are read: each call names a key, where its value goes, and what it may be.
///
/// An absent key leaves its target alone. What nobody asked for is unknown, and reported when the map is done. A value
/// outside lists is the environment's where that has it, as `FLEETWIRE_` and the path in capitals.
final class Section {
    let reader: SettingsReader
    /// Where this map stands, such as `apps[0].limits`; empty for the whole file.
    let path: String
    let line: Int?
    /// The list this map is in, if any: a text can be unique there, and no variable reaches into it.
    let list: String?
    private(set) var unread: [Entry] = []

    struct Entry {
        let key: String
        let value: Node
        /// The key's line: an alias for a value would send the reader to another.
        let line: Int?
    }

    /// An absent or empty map is one without keys.
    init(_ node: Node?, path: String = "", line: Int? = nil, list: String? = nil, reader: SettingsReader) {
        self.reader = reader
        self.path = path
        self.line = line ?? node?.mark?.line
        self.list = list
        guard let node, !node.isNothing else { return }
        guard case .mapping(let map) = node else {
            reader.report("expected a map, found \(node.kind)", at: reader.place(path, self.line))
            return
        }
        for (key, value) in map {
            if let name = key.scalar?.string {
                unread.append(Entry(key: name, value: value, line: key.mark?.line))
            } else {
                reader.report("expected a key, found \(key.kind)", at: reader.place(path, key.mark?.line))
            }
        }
    }

    /// Reads this map by `read`, and reports what is left.
    func finish(_ read: (Section) -> Void) {
        read(self)
        for entry in unread {
            reader.reportUnknown(reader.place(path(to: QuotedValue.ofKey(entry.key)), entry.line))
        }
    }

    /// Takes the key and its value out of the map.
    func take(_ key: String) -> Entry? {
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
        let entry = take(key)
        Section(entry?.value, path: path(to: key), line: entry?.line ?? line, list: list, reader: reader).finish(read)
    }

    /// A list of maps, which replaces the default; at least one, unless it may be empty, and no more than there may be.
    func list<Element>(
        _ key: String, into target: inout [Element], mayBeEmpty: Bool = false, countMax: Int = .max,
        of read: (Section) -> Element
    ) {
        let list = path(to: key)
        reader.keys.insert(list)
        if self.list == nil { reader.lists.append(list) }
        guard let entry = take(key) else { return }
        guard case .sequence(let nodes) = entry.value, mayBeEmpty || !nodes.isEmpty else {
            let expected = mayBeEmpty ? "a list of maps" : "a list of at least one map"
            return reader.report("expected \(expected), found \(entry.value.kind)", at: reader.place(list, entry.line))
        }
        guard nodes.count <= countMax else {
            let problem = "expected a list of at most \(countMax) maps, found one of \(nodes.count)"
            return reader.report(problem, at: reader.place(list, entry.line))
        }
        elements(nodes, of: list, into: &target, read)
    }

    /// A map, which variables may override, or a list of at least one; it is told whether it is the only one.
    func oneOrMore<Element>(
        _ key: String, into target: inout [Element], of read: (Section, _ isOnly: Bool) -> Element
    ) {
        guard let entry = unread.first(where: { $0.key == key }), case .sequence(let nodes) = entry.value else {
            return section(key) { target = [read($0, true)] }
        }
        list(key, into: &target) { read($0, nodes.count == 1) }
    }

    /// Every key of a map whose keys are names that the file gives, each with a map.
    func named(_ rule: StringRule, read: (_ name: String, Section) -> Void) {
        for entry in unread where !reader.isFull {
            let path = path(to: QuotedValue.ofKey(entry.key))
            _ = take(entry.key)
            guard rule.accepts(entry.key) else {
                reader.report("expected \(rule.expected)", at: reader.place(path, entry.line))
                continue
            }
            reader.keys.insert(path)
            Section(entry.value, path: path, line: entry.line, list: list, reader: reader).finish { read(entry.key, $0) }
        }
    }

    private func elements<Element>(
        _ nodes: Node.Sequence, of list: String, into target: inout [Element], _ read: (Section) -> Element
    ) {
        target = []
        for (index, node) in nodes.enumerated() where !reader.isFull {
            let path = "\(list)[\(index)]"
            guard case .mapping = node else {
                reader.report("expected a map, found \(node.kind)", at: reader.place(path, node.mark?.line))
                continue
            }
            Section(node, path: path, list: list, reader: reader).finish { target.append(read($0)) }
        }
    }
}
