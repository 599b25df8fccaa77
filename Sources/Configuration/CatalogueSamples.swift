import FleetRules

/// An entry of the notification catalogue, rendered with sample data. `check-config` prints the result, so that an
/// operator sees what devices will show.
package struct CatalogueSample: Equatable, Sendable {
    /// The entry's name.
    package let name: String
    /// The push mode: that of the entry or, if the entry does not set one, the general mode (`push.mode`).
    package let push: NotificationCatalogue.PushMode
    /// The entry's lifetime, such as `1h`.
    package let lifetime: String
    /// The title and body of a notification that has all fields of its event.
    package let full: Text
    /// The title and body of a notification without any field.
    package let bare: Text
    /// Probable mistakes in the entry, each as one line of text.
    package let warnings: [String]

    /// A rendered title and body.
    package struct Text: Equatable, Sendable {
        package let title: String
        package let body: String

        var isEmpty: Bool { title.isEmpty && body.isEmpty }
    }
}

extension NotificationCatalogue {
    /// A sample of each entry, sorted by name.
    /// - Parameter mode: the push mode of entries that do not set `push`.
    package func samples(mode: PushMode) -> [CatalogueSample] {
        names.compactMap { entry(for: $0) }.map { CatalogueSample($0, mode: mode) }
    }
}

extension CatalogueSample {
    fileprivate init(_ entry: NotificationCatalogue.Entry, mode: NotificationCatalogue.PushMode) {
        let data = SampleData(for: entry.name)
        name = entry.name
        push = entry.push ?? mode
        lifetime = DurationText(seconds: entry.lifetimeSeconds).text
        full = Text(title: entry.title.render(data.value), body: entry.body.render(data.value))
        bare = Text(title: entry.title.render { _ in nil }, body: entry.body.render { _ in nil })
        let fields = Self.removingRepetitions(entry.title.fields + entry.body.fields)
        var warnings = fields.filter { data.value(of: $0) == nil }.map {
            "\(entry.name) has no field {\($0)}: devices always show the text after |, or nothing without |"
        }
        if full.isEmpty {
            warnings.append("devices show nothing: title and body are empty")
        } else if bare.isEmpty {
            let names = fields.map { "{\($0)}" }.joined(separator: ", ")
            let verb = fields.count == 1 ? "is" : "are"
            warnings.append("devices show nothing if \(names) \(verb) missing: write {field|text} to set a text for that case")
        }
        self.warnings = warnings
    }

    private static func removingRepetitions(_ fields: [String]) -> [String] {
        fields.enumerated().filter { !fields[..<$0.offset].contains($0.element) }.map(\.element)
    }

    /// The sample as `check-config` prints it: name, push mode and lifetime; the text with all fields; the text without
    /// any; the warnings.
    package var lines: [String] {
        var lines = ["\(name): \(push.rawValue), \(lifetime)", "  all fields: \(full.line)", "  no fields:  \(bare.line)"]
        lines += warnings.map { "  warning: \($0)" }
        return lines
    }
}

extension CatalogueSample.Text {
    /// The title and the body, each in quotes, so that line breaks and spaces are visible.
    fileprivate var line: String { "\(QuotedValue.whole(title)), \(QuotedValue.whole(body))" }
}
