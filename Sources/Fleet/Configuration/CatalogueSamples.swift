import Fleet

/// An entry of the notification catalogue, rendered with sample data. `check-config` prints the result, so that an
/// operator sees what devices will show.
package struct CatalogueSample: Equatable, Sendable {
    /// The entry's name.
    package let name: String
    /// The push mode: that of the entry or, if the entry does not set one, the general mode (`push.mode`).
    package let push: NotificationCatalogue.PushMode
    /// The people to whose devices the entry's events are pushed.
    package let recipients: String
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
        recipients = Self.recipients(of: entry, push)
        full = Text(title: data.render(entry.title), body: data.render(entry.body))
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
        self.warnings = warnings + Self.audienceWarnings(of: entry)
    }

    private static func recipients(
        of entry: NotificationCatalogue.Entry, _ push: NotificationCatalogue.PushMode
    ) -> String {
        let audience = EventRecipients(of: entry.name)
        let person: String? =
            switch audience.person {
            case .driver: "the driver"
            case .customer: "the booking's customer"
            case .named: "those named in the announcement"
            case nil: nil
            }
        var recipients: [String] = []
        if let person, push != .off { recipients.append(push == .fallback ? "\(person), if not confirmed" : person) }
        if entry.broadcast, audience.areAllDrivers {
            recipients.append(recipients.isEmpty || audience.person == .named ? "all drivers" : "all other drivers")
        }
        return recipients.isEmpty ? "none" : recipients.joined(separator: "; ")
    }

    /// Options that have no effect.
    private static func audienceWarnings(of entry: NotificationCatalogue.Entry) -> [String] {
        let audience = EventRecipients(of: entry.name)
        if entry.broadcast, !audience.areAllDrivers {
            return ["broadcast has no effect: drivers-channel never gets \(entry.name)"]
        }
        if audience.person == nil, audience.areAllDrivers, !entry.broadcast, entry.push ?? .off != .off {
            let advice = "write broadcast: true to push it to all drivers"
            return ["push has no effect: only drivers-channel gets \(entry.name); \(advice)"]
        }
        return []
    }

    private static func removingRepetitions(_ fields: [String]) -> [String] {
        fields.enumerated().filter { !fields[..<$0.offset].contains($0.element) }.map(\.element)
    }

    /// The sample as `check-config` prints it: name, push mode and lifetime; the recipients; the text with all fields;
    /// the text without any; the warnings.
    package var lines: [String] {
        var lines = [
            "\(name): \(push.rawValue), \(lifetime)", "  recipients: \(recipients)", "  all fields: \(full.line)",
            "  no fields:  \(bare.line)",
        ]
        lines += warnings.map { "  warning: \($0)" }
        return lines
    }
}

extension CatalogueSample.Text {
    /// The title and the body, each in quotes, so that line breaks and spaces are visible.
    fileprivate var line: String { "\(QuotedValue.whole(title)), \(QuotedValue.whole(body))" }
}
