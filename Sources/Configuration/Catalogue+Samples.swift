extension Settings.Catalogue {
    /// What phones would show of one entry, so that an operator sees it before drivers do.
    package struct Sample: Equatable, Sendable {
        /// The entry's name.
        package let name: String
        /// Whether it is pushed, all considered.
        package let push: Entry.Push
        /// For how long it is worth delivering, such as `1h`.
        package let lifetime: String
        /// With a value for every field.
        package let full: Text
        /// With none.
        package let bare: Text
        /// What is probably not meant, each on a line of its own.
        package let warnings: [String]

        /// What stands on a phone.
        package struct Text: Equatable, Sendable {
            package let title: String
            package let body: String

            var isEmpty: Bool { title.isEmpty && body.isEmpty }
        }
    }

    /// A sample of each entry, in alphabetical order. `mode` is for those that do not say whether they are pushed.
    package func samples(mode: Entry.Push) -> [Sample] {
        names.compactMap { entry(for: $0) }.map { Sample($0, mode: mode) }
    }
}

extension Settings.Catalogue.Sample {
    fileprivate init(_ entry: Settings.Catalogue.Entry, mode: Settings.Catalogue.Entry.Push) {
        let data = SampleData(of: entry.name)
        name = entry.name
        push = entry.push ?? mode
        lifetime = DurationText(seconds: entry.lifetimeSeconds).text
        full = Text(title: entry.title.render(data.value), body: entry.body.render(data.value))
        bare = Text(title: entry.title.render { _ in nil }, body: entry.body.render { _ in nil })
        let fields = entry.title.fields + entry.body.fields
        var warnings = Self.once(fields).filter { data.value(of: $0) == nil }.map {
            "{\($0)} is no field of \(entry.name): what is shown without it is always shown"
        }
        if full.isEmpty {
            warnings.append("a phone shows nothing: title and body are empty")
        } else if bare.isEmpty {
            let named = Self.once(fields).map { "{\($0)}" }.joined(separator: ", ")
            warnings.append("a phone shows nothing when there is no \(named): {field|words} has words for that case")
        }
        self.warnings = warnings
    }

    private static func once(_ fields: [String]) -> [String] {
        fields.enumerated().filter { !fields[..<$0.offset].contains($0.element) }.map(\.element)
    }

    /// For a terminal: the entry on a line, each text on its own beneath, then the warnings.
    package var lines: [String] {
        var lines = ["\(name): \(push.rawValue), \(lifetime)", "  all fields: \(full.line)", "  no fields:  \(bare.line)"]
        lines += warnings.map { "  warning: \($0)" }
        return lines
    }
}

extension Settings.Catalogue.Sample.Text {
    /// In quotes, so that line breaks and blanks can be seen.
    fileprivate var line: String { "\(QuotedValue.whole(title)), \(QuotedValue.whole(body))" }
}
