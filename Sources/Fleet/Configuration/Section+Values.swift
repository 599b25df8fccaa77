import Fleet
import Primitives

// One method for each kind of value. A method reads a key and checks its value. If the value is invalid, it reports
// what was expected and what was found.

extension Section {
    /// A string. Before the call, `target` contains the default; if the rule rejects the default, the key is required.
    /// - Parameter unique: if true, two maps of the same list must not have the same value for this key.
    /// - Returns: the value's location; nil if there is no value or the rule rejected it.
    @discardableResult
    func text(_ key: String, into target: inout String, _ rule: StringRule, unique: Bool = false) -> SourceLocation? {
        let value = Value(expected: rule.expected, isRequired: !rule.accepts(target))
        let location = read(key, value, into: &target, parse: rule.accepted)
        guard unique, let list, let location, let other = reader.claim(target, as: "\(list) \(key)", at: location) else {
            return location
        }
        reader.report("expected a unique \(key), found \(QuotedValue.of(target)), the same as \(other)", at: location)
        return location
    }

    /// A string that must not appear in errors.
    /// - Parameter kind: what it is; decides whether a file that contains it must be kept from readers.
    @discardableResult
    func secret(
        _ key: String, into target: inout String, _ rule: StringRule, _ kind: HiddenValue = .secret
    ) -> SourceLocation? {
        let value = Value(expected: rule.expected, isRequired: !rule.accepts(target), hidden: kind)
        return read(key, value, into: &target, parse: rule.accepted)
    }

    /// A URL. White space around it does not count: variables and files often end with some.
    /// - Parameter isHidden: whether no error may show it, because its path or query may contain a password.
    @discardableResult
    func url(_ key: String, into target: inout String, _ rule: StringRule, isHidden: Bool) -> SourceLocation? {
        let value = Value(
            expected: rule.expected, isRequired: !rule.accepts(target), hidden: isHidden ? .address : nil, isURL: true)
        return read(key, value, into: &target, parse: rule.accepted)
    }

    /// A text that may contain fields in braces, such as `{driverName}`: see ``Template``.
    func template(_ key: String, into target: inout Template) {
        var text = ""
        guard let location = read(key, Value(expected: "a string"), into: &text, parse: { $0 }) else { return }
        do {
            target = try Template(parsing: text)
        } catch {
            reader.report(error.reason, at: location)
        }
    }

    /// A template as for ``template(_:into:)``, or a list of at most `countMax` templates, which are alternatives.
    func templates(_ key: String, into target: inout Template, countMax: Int) {
        guard let entry = unread.first(where: { $0.key == key }), entry.value.sequence != nil else {
            return template(key, into: &target)
        }
        var texts: [String] = []
        self.texts(key, Value(expected: "a string"), into: &texts, countMax: countMax, parse: { $0 })
        var alternatives: [Template] = []
        for (index, text) in texts.enumerated() {
            do {
                alternatives.append(try Template(parsing: text))
            } catch {
                reader.report(error.reason, at: reader.location("\(path(to: key))[\(index)]", entry.line))
            }
        }
        if !alternatives.isEmpty { target = Template(alternatives) }
    }

    /// A map of at most `countMax` strings, whose keys are names that the operator chooses. `use` gets the map if it is
    /// present, in the order written.
    func texts(
        _ key: String, named nameRule: StringRule, _ rule: StringRule, countMax: Int,
        use: ([(name: String, text: String)]) -> Void
    ) {
        guard unread.contains(where: { $0.key == key }) else { return reader.keys.insert(path(to: key)) }
        section(key) { map in
            let entries = map.unread
            guard entries.count <= countMax else {
                for entry in entries { _ = map.consume(entry.key) }
                let problem = "expected at most \(countMax) names, found \(entries.count)"
                return reader.report(problem, at: reader.location(map.path, map.line))
            }
            var texts: [(name: String, text: String)] = []
            for entry in entries {
                guard nameRule.accepts(entry.key) else {
                    _ = map.consume(entry.key)
                    reader.report(
                        "expected \(nameRule.expected)",
                        at: reader.location(map.path(to: QuotedValue.ofKey(entry.key)), entry.line))
                    continue
                }
                var text = ""
                if map.text(entry.key, into: &text, rule) != nil { texts.append((entry.key, text)) }
            }
            use(texts)
        }
    }

    /// The path of a file that need not exist.
    func path(_ key: String, into target: inout String) {
        text(key, into: &target, StringRule("a file's path", accepts: StringRule.nonEmpty.accepts))
        target = reader.expansion.resolvePath(target)
    }

    /// The path of another configuration file, whose keys `read` reads. An empty path means no file.
    func include(_ key: String, read: (Section) -> Void) {
        var path = ""
        guard let content = file(key, into: &path)?.content else { return }
        reader.readIncluded(content, file: path, keys: read)
    }

    /// The path of a file, and the file's content. An empty path means no file. The file is read only if `isUsed`.
    /// - Parameter isSecret: whether its readers learn a secret.
    func file(
        _ key: String, into path: inout String, content: inout String, isUsed: Bool, isSecret: Bool = false
    ) {
        guard isUsed else { return unusedFile(key, into: &path) }
        if let text = file(key, into: &path, isSecret: isSecret)?.content { content = text }
    }

    /// The path of a file with a secret, and the file's content, which `rule` must accept. If `isUsed` is true, the key is
    /// required; if it is false, the file is not read.
    func file(
        _ key: String, into path: inout String, containing rule: StringRule, into content: inout String, isUsed: Bool
    ) {
        guard isUsed else { return unusedFile(key, into: &path) }
        if let text = file(key, into: &path, isRequired: true, isSecret: true, containing: rule)?.content { content = text }
    }

    private func unusedFile(_ key: String, into path: inout String) {
        if text(key, into: &path, .any) != nil, !path.isEmpty { path = reader.expansion.resolvePath(path) }
    }

    /// Strings that must not appear in errors: a single string under the key `one`, or a list of at most `countMax`
    /// strings under the key `list`. Not both, and one of them if `areRequired`.
    func secrets(
        _ one: String, or list: String, into target: inout [String], countMax: Int, _ rule: StringRule,
        areRequired: Bool = true
    ) {
        let count = unread.count { $0.key == one || $0.key == list }
        if count > 1 || count == 0 && areRequired {
            let found = count == 0 ? "neither" : "both"
            reader.report("expected either \(one) or \(list), found \(found)", at: reader.location(path, line))
        }
        let value = Value(expected: rule.expected, hidden: .secret)
        var text = ""
        if read(one, value, into: &text, parse: rule.accepted) != nil { target = [text] }
        texts(list, value, into: &target, countMax: countMax, parse: rule.accepted)
    }

    /// A list of strings, which replaces the content of `target`. Rejects an empty list unless `mayBeEmpty`.
    /// - Parameter areSecret: whether no message may show them.
    func texts(
        _ key: String, into target: inout [String], _ rule: StringRule, mayBeEmpty: Bool = false, areSecret: Bool = false
    ) {
        let value = Value(expected: rule.expected, hidden: areSecret ? .address : nil, isURL: areSecret)
        texts(key, value, into: &target, countMax: nil, mayBeEmpty: mayBeEmpty, parse: rule.accepted)
    }

    /// The paths of two files, of which the second has a secret. Either both are set or neither, unless they are required; an
    /// empty path counts as not set.
    /// A file that cannot be read is reported.
    func files(
        _ first: String, into firstPath: inout String, and second: String, into secondPath: inout String, areRequired: Bool
    ) {
        let problemsBefore = reader.problems.count
        let firstLocation = file(first, into: &firstPath, isRequired: areRequired)?.location
        let secondLocation = file(second, into: &secondPath, isRequired: areRequired, isSecret: true)?.location
        guard firstPath.isEmpty != secondPath.isEmpty, reader.problems.count == problemsBefore else { return }
        let (missing, given) = firstPath.isEmpty ? (first, second) : (second, first)
        let location = (firstPath.isEmpty ? firstLocation : secondLocation) ?? reader.location(path(to: missing), line)
        reader.report("expected a file's path, required with \(path(to: given)), found nothing", at: location)
    }

    /// An integer within `range`, in decimal digits. 010 is rejected, because YAML 1.1 reads it as octal, which is 8.
    func integer(_ key: String, into target: inout Int, _ range: ClosedRange<Int>) {
        let value = Value(expected: "an integer from \(range.lowerBound) to \(range.upperBound)")
        read(key, value, into: &target) { text in
            Int(text).flatMap { range.contains($0) && String($0) == text ? $0 : nil }
        }
    }

    /// A number within `range`, in decimal digits with or without a fraction.
    /// - Parameter mayBeZero: if false, 0 is rejected, although it is the range's lower bound.
    func number(_ key: String, into target: inout Double, _ range: ClosedRange<Double>, mayBeZero: Bool = true) {
        let (lowest, highest) = (Int(range.lowerBound), Int(range.upperBound))
        let value = Value(
            expected: mayBeZero ? "a number from \(lowest) to \(highest)" : "a number above \(lowest), at most \(highest)")
        read(key, value, into: &target) { text in
            let isDecimal = text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: ".") }
            return Double(text).flatMap { isDecimal && range.contains($0) && (mayBeZero || $0 > 0) ? $0 : nil }
        }
    }

    /// A time from one second to 28 days, such as `90s`. The target is in seconds.
    func lifetime(_ key: String, into target: inout Int) {
        let (shortest, longest) = (DurationText.shortestLifetime, DurationText.longestLifetime)
        let value = Value(expected: "a time from \(shortest.text) to \(longest.text), such as 30s, 10m, 1h or 7d")
        read(key, value, into: &target) { text in
            DurationText(text).flatMap { (shortest.seconds...longest.seconds).contains($0.seconds) ? $0.seconds : nil }
        }
    }

    /// `true` or `false`. YAML's other spellings, such as `yes`, are rejected.
    func flag(_ key: String, into target: inout Bool) {
        read(key, Value(expected: "true or false"), into: &target) { Bool($0) }
    }

    /// One of an enum's raw values.
    func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, into target: inout Choice) {
        var chosen: Choice?
        choice(key, into: &chosen)
        if let chosen { target = chosen }
    }

    /// One of an enum's raw values. `target` has no default: if the key is absent or invalid, it remains nil.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, into target: inout Choice?, isRequired: Bool = false
    ) {
        let words = Choice.allCases.map { "\($0.rawValue)" }
        let expected = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        read(key, Value(expected: expected, isRequired: isRequired), into: &target) { text in
            // `read` expects nil for an invalid text. Without `map(Optional.some)`, Swift would convert that nil to
            // `.some(nil)`, a valid value of the optional target.
            Choice.allCases.first { "\($0.rawValue)" == text }.map(Optional.some)
        }
    }

    /// What is expected of a key's value, and whether errors may show the value.
    private struct Value {
        /// The valid values, worded to follow "expected".
        var expected: String
        /// True: a missing value is an error.
        var isRequired = false
        /// Not nil: errors show only the value's length.
        var hidden: HiddenValue?
        /// Whether the space around it does not count.
        var isURL = false

        /// The value as errors show it.
        /// - Parameters:
        ///   - written: the value in the file or the environment.
        ///   - text: the value after its references, such as `${NAME}`, were expanded.
        func found(_ written: String, _ text: String) -> String {
            if hidden != nil { return QuotedValue.sizeOnly(of: text) }
            if written == text { return QuotedValue.of(text) }
            // The text comes from an environment variable or a file and may be a secret. Show the reference, such as
            // `${NAME}`, and only the length of the text.
            return "\(QuotedValue.of(written)), \(QuotedValue.sizeOnly(of: text))"
        }
    }

    /// Reads a key's value into `target`. If the value is invalid, reports it and leaves `target` unchanged.
    /// - Returns: the value's location; nil if there is no value or it was reported.
    @discardableResult
    private func read<Target>(
        _ key: String, _ value: Value, into target: inout Target, parse: (String) -> Target?
    ) -> SourceLocation? {
        guard let (written, location) = find(key, value),
            let parsed = resolve(written, value, at: location, parse: parse)
        else { return nil }
        target = parsed
        return location
    }

    /// A list of strings. Each invalid string is reported with its index.
    /// - Parameter countMax: the most strings in the list; nil means no limit.
    private func texts(
        _ key: String, _ value: Value, into target: inout [String], countMax: Int?, mayBeEmpty: Bool = false,
        parse: (String) -> String?
    ) {
        let list = path(to: key)
        reader.keys.insert(list)
        if self.list == nil { reader.lists.append(list) }
        guard let entry = consume(key) else { return }
        let nodes = entry.value.sequence.map(Array.init)
        guard let nodes, ((mayBeEmpty ? 0 : 1)...(countMax ?? .max)).contains(nodes.count) else {
            let expected = countMax.map { "1 to \($0) strings" } ?? (mayBeEmpty ? "strings" : "at least one string")
            let found = (nodes ?? []).isEmpty ? entry.value.kind : "a list of \(nodes?.count ?? 0)"
            return reader.report("expected a list of \(expected), found \(found)", at: reader.location(list, entry.line))
        }
        target = []
        for (index, node) in nodes.enumerated() where !reader.hasReachedProblemsMax {
            let location = reader.location("\(list)[\(index)]", node.mark?.line)
            guard let written = node.text else {
                reader.report("expected \(value.expected), found \(node.kind)", at: location)
                continue
            }
            if let text = resolve(written, value, at: location, parse: parse) { target.append(text) }
        }
    }

    /// Reads the file whose path is the key's value. Reports a file that cannot be read or whose content `rule`
    /// rejects.
    /// - Returns: nil if the key is absent or the path was reported; otherwise the location of the path, and the file's
    ///   content. The content is nil if the path is empty or the file was reported.
    private func file(
        _ key: String, into target: inout String, isRequired: Bool = false, isSecret: Bool = false,
        containing rule: StringRule = .any
    ) -> (location: SourceLocation, content: String?)? {
        let value = Value(expected: "a file's path", isRequired: isRequired)
        guard let (written, location) = find(key, value),
            let path = resolve(written, value, at: location, parse: { isRequired && $0.isEmpty ? nil : $0 })
        else { return nil }
        guard !path.isEmpty else {
            target = path
            return (location, nil)
        }
        target = reader.expansion.resolvePath(path)
        do {
            let content = try reader.expansion.readFile(target)
            reader.note(SettingsFile(key: self.path(to: key), path: target, isSecret: isSecret))
            if rule.accepts(content) { return (location, content) }
            reader.report(
                "expected a file with \(rule.expected), found \(value.found(written, path)), which has none", at: location)
        } catch {
            reader.report("cannot read \(value.found(written, path)): \(error.reason)", at: location)
        }
        return (location, nil)
    }

    /// Expands the references in a value and parses the result. If either fails, reports the problem and returns nil.
    private func resolve<Target>(
        _ written: String, _ value: Value, at location: SourceLocation, parse: (String) -> Target?
    ) -> Target? {
        do {
            var text = try reader.expansion.resolve(written)
            if value.isURL { text = text.withoutSurroundingSpace }
            note(written, text, value.hidden, at: location)
            if let parsed = parse(text) { return parsed }
            reader.report("expected \(value.expected), found \(value.found(written, text))", at: location)
        } catch {
            reader.report(error.reason, at: location)
        }
        return nil
    }

    /// Notes the file that a value comes from: the one that it refers to, or for a secret that is written out, the
    /// configuration.
    private func note(_ written: String, _ text: String, _ hidden: HiddenValue?, at location: SourceLocation) {
        // An environment variable has a name, and no key.
        let key = location.key.isEmpty ? location.file : location.key
        if let path = reader.expansion.file(of: written) {
            reader.note(SettingsFile(key: key, path: path, isSecret: [.secret, .address].contains(hidden)))
        } else if written == text, !text.isEmpty, location.file == reader.file,
            hidden == .secret || hidden == .address && text.utf8.contains(UInt8(ascii: "@"))
        {
            reader.note(SettingsFile(key: key, path: reader.file, isSecret: true))
        }
    }

    /// A key's value before references are expanded: from the key's environment variable or, if that is not set, from
    /// the map. Nil if neither contains a string; a value of another kind and a missing required value are reported.
    private func find(_ key: String, _ value: Value) -> (written: String, SourceLocation)? {
        let path = path(to: key)
        reader.keys.insert(path)
        let entry = consume(key)
        if list == nil, let (text, variable) = reader.variable(for: path) { return (text, variable) }
        let location = reader.location(path, entry?.line ?? line)
        if let text = entry?.value.text { return (text, location) }
        if entry != nil || value.isRequired {
            reader.report("expected \(value.expected), found \(entry?.value.kind ?? "nothing")", at: location)
        }
        return nil
    }
}

/// What a value is that no error shows.
enum HiddenValue {
    /// Who knows it has rights.
    case secret
    /// A URL, which has a password if it contains `@`, and may have one if it stands in a file.
    case address
    /// A public key. An operator may have set a secret under this key by mistake.
    case publicKey
}
