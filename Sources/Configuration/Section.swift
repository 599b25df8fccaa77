import Yams

/// A map of the configuration while its keys are read: each call names a key, where its value goes, and what it may be.
///
/// An absent key leaves its target alone. What nobody asked for is unknown, and reported when the map is done. A value
/// outside lists is the environment's where that has it, as `FLEETWIRE_` and the path in capitals.
final class Section {
    private let reader: SettingsReader
    /// Where this map stands, such as `apps[0].limits`; empty for the whole file.
    private let path: String
    private let line: Int?
    /// The list this map is in, if any: a text can be unique there, and no variable reaches into it.
    private let list: String?
    private var unread: [Entry] = []

    private struct Entry {
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
            reader.reportUnknown(reader.place(path(to: Quotation.ofKey(entry.key)), entry.line))
        }
    }

    /// Takes the key and its value out of the map.
    private func take(_ key: String) -> Entry? {
        unread.firstIndex { $0.key == key }.map { unread.remove(at: $0) }
    }

    private func path(to key: String) -> String {
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

    /// A list of maps, at least one, which replaces the default.
    func list<Element>(_ key: String, into target: inout [Element], of read: (Section) -> Element) {
        let list = path(to: key)
        reader.keys.insert(list)
        if self.list == nil { reader.lists.append(list) }
        guard let entry = take(key) else { return }
        guard case .sequence(let nodes) = entry.value, !nodes.isEmpty else {
            let problem = "expected a list of at least one map, found \(entry.value.kind)"
            return reader.report(problem, at: reader.place(list, entry.line))
        }
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

// MARK: Values

extension Section {
    /// A text. A default that the rule refuses makes the key a required one; `unique`: no other in the list has it.
    func text(_ key: String, into target: inout String, _ rule: TextRule, unique: Bool = false) {
        let value = Value(expected: rule.expected, isRequired: !rule.accepts(target))
        let place = read(key, value, into: &target) { rule.accepts($0) ? $0 : nil }
        guard unique, let list, let place, let other = reader.claim(target, as: "\(list) \(key)", for: place) else {
            return
        }
        reader.report("expected a unique \(key), found \(Quotation.of(target)), which \(other) has", at: place)
    }

    /// A text that no error may show.
    func secret(_ key: String, into target: inout String, _ rule: TextRule) {
        let value = Value(expected: rule.expected, isRequired: !rule.accepts(target), isSecret: true)
        read(key, value, into: &target) { rule.accepts($0) ? $0 : nil }
    }

    /// A whole number in decimal digits: 010 is eight to some and ten to others, so neither.
    func integer(_ key: String, into target: inout Int, _ range: ClosedRange<Int>) {
        let value = Value(expected: "an integer from \(range.lowerBound) to \(range.upperBound)")
        read(key, value, into: &target) { text in
            Int(text).flatMap { range.contains($0) && String($0) == text ? $0 : nil }
        }
    }

    /// True or false.
    func flag(_ key: String, into target: inout Bool) {
        read(key, Value(expected: "true or false"), into: &target) { Bool($0) }
    }

    /// One of a few words.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: String, into target: inout Choice) {
        let words = Choice.allCases.map(\.rawValue)
        let expected = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        read(key, Value(expected: expected), into: &target) { Choice(rawValue: $0) }
    }

    /// What the kinds of values differ in, besides how they are parsed.
    private struct Value {
        /// Completes "expected …".
        var expected: String
        var isRequired = false
        var isSecret = false

        func found(_ written: String, _ text: String) -> String {
            if isSecret { return Quotation.sizeOnly(of: text) }
            if written == text { return Quotation.of(text) }
            // Brought in from elsewhere, where secrets live: show where, not what.
            return "\(Quotation.of(written)), \(Quotation.sizeOnly(of: text))"
        }
    }

    /// Where the key's value stands, if there is one and it was taken over; what is wrong with it is reported.
    @discardableResult
    private func read<Target>(
        _ key: String, _ value: Value, into target: inout Target, parse: (String) -> Target?
    ) -> Place? {
        guard let (written, place) = find(key, value) else { return nil }
        do {
            let text = try reader.substitution.resolve(written)
            if let parsed = parse(text) {
                target = parsed
                return place
            }
            reader.report("expected \(value.expected), found \(value.found(written, text))", at: place)
        } catch {
            reader.report(error.reason, at: place)
        }
        return nil
    }

    /// What is written for the key, in the environment or else in the map.
    private func find(_ key: String, _ value: Value) -> (written: String, Place)? {
        let path = path(to: key)
        reader.keys.insert(path)
        let entry = take(key)
        if list == nil, let (text, variable) = reader.variable(for: path) { return (text, variable) }
        let place = reader.place(path, entry?.line ?? line)
        if let text = entry?.value.text { return (text, place) }
        if entry != nil || value.isRequired {
            reader.report("expected \(value.expected), found \(entry?.value.kind ?? "nothing")", at: place)
        }
        return nil
    }
}
