import FleetRules

// What a key may hold: each kind of value checks what is written, and reports what it is not.

extension Section {
    /// A text. A default that the rule refuses makes the key a required one; `unique`: no other in the list has it.
    @discardableResult
    func text(_ key: String, into target: inout String, _ rule: StringRule, unique: Bool = false) -> SourceLocation? {
        let value = Value(expected: rule.expected, isRequired: !rule.accepts(target))
        let place = read(key, value, into: &target, parse: rule.accepted)
        guard unique, let list, let place, let other = reader.claim(target, as: "\(list) \(key)", for: place) else {
            return place
        }
        reader.report("expected a unique \(key), found \(QuotedValue.of(target)), which \(other) has", at: place)
        return place
    }

    /// A text that no error may show.
    @discardableResult
    func secret(_ key: String, into target: inout String, _ rule: StringRule) -> SourceLocation? {
        let value = Value(expected: rule.expected, isRequired: !rule.accepts(target), isSecret: true)
        return read(key, value, into: &target, parse: rule.accepted)
    }

    /// A text with fields to fill in.
    func template(_ key: String, into target: inout Template) {
        var text = ""
        guard let place = read(key, Value(expected: "a text"), into: &text, parse: { $0 }) else { return }
        do {
            target = try Template(parsing: text)
        } catch {
            reader.report(error.reason, at: place)
        }
    }

    /// The path of something that the gateway makes where it is missing.
    func path(_ key: String, into target: inout String) {
        text(key, into: &target, StringRule("a file's path", accepts: StringRule.nonEmpty.accepts))
        target = reader.substitution.located(target)
    }

    /// A file that is a part of the configuration; empty: none.
    func part(_ key: String, read: (Section) -> Void) {
        var path = ""
        guard let content = file(key, into: &path)?.content else { return }
        reader.readPart(content, file: path, table: read)
    }

    /// The path of a file that must be there if it is used, and otherwise is not looked at, and what it holds; empty: no file.
    func file(_ key: String, into path: inout String, content: inout String, isUsed: Bool) {
        guard isUsed else { return unusedFile(key, into: &path) }
        if let text = file(key, into: &path)?.content { content = text }
    }

    /// The path of a file, and what it holds; if it is used there must be both, and otherwise it is not looked at.
    func file(
        _ key: String, into path: inout String, holding rule: StringRule, into content: inout String, isUsed: Bool
    ) {
        guard isUsed else { return unusedFile(key, into: &path) }
        if let text = file(key, into: &path, isRequired: true, holding: rule)?.content { content = text }
    }

    private func unusedFile(_ key: String, into path: inout String) {
        if text(key, into: &path, .any) != nil, !path.isEmpty { path = reader.substitution.located(path) }
    }

    /// Texts that no error may show: one under the first key, or a list of them under the second.
    func secrets(_ one: String, or several: String, into target: inout [String], countMax: Int, _ rule: StringRule) {
        let count = unread.count { $0.key == one || $0.key == several }
        if count != 1 {
            let found = count == 0 ? "neither" : "both"
            reader.report("expected either \(one) or \(several), found \(found)", at: reader.place(path, line))
        }
        let value = Value(expected: rule.expected, isSecret: true)
        var text = ""
        if read(one, value, into: &text, parse: rule.accepted) != nil { target = [text] }
        texts(several, value, into: &target, countMax: countMax, parse: rule.accepted)
    }

    /// A list of texts, which replaces the default; at least one, unless it may be empty.
    func texts(_ key: String, into target: inout [String], _ rule: StringRule, mayBeEmpty: Bool = false) {
        let value = Value(expected: rule.expected)
        texts(key, value, into: &target, countMax: nil, mayBeEmpty: mayBeEmpty, parse: rule.accepted)
    }

    /// The paths of two files, neither of use without the other; empty: no file.
    func files(
        _ first: String, into firstPath: inout String, and second: String, into secondPath: inout String
    ) {
        let problemCount = reader.problems.count
        let firstPlace = file(first, into: &firstPath)?.place
        let secondPlace = file(second, into: &secondPath)?.place
        guard firstPath.isEmpty != secondPath.isEmpty, reader.problems.count == problemCount else { return }
        let (missing, given) = firstPath.isEmpty ? (first, second) : (second, first)
        let place = (firstPath.isEmpty ? firstPlace : secondPlace) ?? reader.place(path(to: missing), line)
        reader.report("expected a file to go with \(path(to: given)), found nothing", at: place)
    }

    /// A whole number in decimal digits: 010 is eight to some and ten to others, so neither.
    func integer(_ key: String, into target: inout Int, _ range: ClosedRange<Int>) {
        let value = Value(expected: "an integer from \(range.lowerBound) to \(range.upperBound)")
        read(key, value, into: &target) { text in
            Int(text).flatMap { range.contains($0) && String($0) == text ? $0 : nil }
        }
    }

    /// A time from a second to four weeks, such as `90s`, as seconds.
    func lifetime(_ key: String, into target: inout Int) {
        let (low, high) = (DurationText.shortest, DurationText.longest)
        let value = Value(expected: "a time from \(low.text) to \(high.text), such as 30s, 10m, 1h or 7d")
        read(key, value, into: &target) { text in
            DurationText(text).flatMap { (low.seconds...high.seconds).contains($0.seconds) ? $0.seconds : nil }
        }
    }

    /// True or false.
    func flag(_ key: String, into target: inout Bool) {
        read(key, Value(expected: "true or false"), into: &target) { Bool($0) }
    }

    /// One of a few words or numbers.
    func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, into target: inout Choice) {
        var chosen: Choice?
        choice(key, into: &chosen)
        if let chosen { target = chosen }
    }

    /// One of a few words or numbers, without a default.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, into target: inout Choice?, isRequired: Bool = false
    ) {
        let words = Choice.allCases.map { "\($0.rawValue)" }
        let expected = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        read(key, Value(expected: expected, isRequired: isRequired), into: &target) { text in
            // Wrapped, or a text that is none of them would be read as the absence of a choice.
            Choice.allCases.first { "\($0.rawValue)" == text }.map(Optional.some)
        }
    }

    /// What the kinds of values differ in, besides how they are parsed.
    private struct Value {
        /// Completes "expected …".
        var expected: String
        var isRequired = false
        var isSecret = false

        func found(_ written: String, _ text: String) -> String {
            if isSecret { return QuotedValue.sizeOnly(of: text) }
            if written == text { return QuotedValue.of(text) }
            // Brought in from elsewhere, where secrets live: show where, not what.
            return "\(QuotedValue.of(written)), \(QuotedValue.sizeOnly(of: text))"
        }
    }

    /// Where the key's value stands, if there is one and it was taken over; what is wrong with it is reported.
    @discardableResult
    private func read<Target>(
        _ key: String, _ value: Value, into target: inout Target, parse: (String) -> Target?
    ) -> SourceLocation? {
        guard let (written, place) = find(key, value),
            let parsed = resolve(written, value, at: place, parse: parse)
        else { return nil }
        target = parsed
        return place
    }

    /// A list of texts; each one wrong is reported with its place in the list.
    private func texts(
        _ key: String, _ value: Value, into target: inout [String], countMax: Int?, mayBeEmpty: Bool = false,
        parse: (String) -> String?
    ) {
        let list = path(to: key)
        reader.keys.insert(list)
        if self.list == nil { reader.lists.append(list) }
        guard let entry = take(key) else { return }
        let nodes = entry.value.sequence.map(Array.init)
        guard let nodes, ((mayBeEmpty ? 0 : 1)...(countMax ?? .max)).contains(nodes.count) else {
            let expected = countMax.map { "1 to \($0) texts" } ?? (mayBeEmpty ? "texts" : "at least one text")
            let found = (nodes ?? []).isEmpty ? entry.value.kind : "one of \(nodes?.count ?? 0)"
            return reader.report("expected a list of \(expected), found \(found)", at: reader.place(list, entry.line))
        }
        target = []
        for (index, node) in nodes.enumerated() where !reader.isFull {
            let place = reader.place("\(list)[\(index)]", node.mark?.line)
            guard let written = node.text else {
                reader.report("expected \(value.expected), found \(node.kind)", at: place)
                continue
            }
            if let text = resolve(written, value, at: place, parse: parse) { target.append(text) }
        }
    }

    /// Where the path stands, if there is one, and what the file holds; a file that cannot be read is reported, and one that
    /// does not hold what it should.
    private func file(
        _ key: String, into target: inout String, isRequired: Bool = false, holding rule: StringRule = .any
    ) -> (place: SourceLocation, content: String?)? {
        let value = Value(expected: "a file's path", isRequired: isRequired)
        guard let (written, place) = find(key, value),
            let path = resolve(written, value, at: place, parse: { isRequired && $0.isEmpty ? nil : $0 })
        else { return nil }
        guard !path.isEmpty else {
            target = path
            return (place, nil)
        }
        target = reader.substitution.located(path)
        do {
            let content = try reader.substitution.content(target)
            if rule.accepts(content) { return (place, content) }
            reader.report("expected a file with \(rule.expected), found \(value.found(written, path)), which has none", at: place)
        } catch {
            reader.report("cannot read \(value.found(written, path)): \(error.reason)", at: place)
        }
        return (place, nil)
    }

    /// The value of what is written, with what it brings in; nil after a report.
    private func resolve<Target>(
        _ written: String, _ value: Value, at place: SourceLocation, parse: (String) -> Target?
    ) -> Target? {
        do {
            let text = try reader.substitution.resolve(written)
            if let parsed = parse(text) { return parsed }
            reader.report("expected \(value.expected), found \(value.found(written, text))", at: place)
        } catch {
            reader.report(error.reason, at: place)
        }
        return nil
    }

    /// What is written for the key, in the environment or else in the map.
    private func find(_ key: String, _ value: Value) -> (written: String, SourceLocation)? {
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
