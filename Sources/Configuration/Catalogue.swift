import FleetRules

extension Settings {
    /// What phones show for each event, by the event's name or the notification's type.
    package struct Catalogue: Equatable, Sendable {
        private var entries: [String: Entry]

        /// The entries of a catalogue, no two of one name.
        package init(_ entries: [Entry]) {
            self.entries = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0) })
        }

        /// The entry of an event or a type, by its exact name.
        package func entry(for name: String) -> Entry? {
            entries[name]
        }

        /// The names of all entries, in alphabetical order.
        package var names: [String] { entries.keys.sorted() }

        /// Changes an entry; a new one starts from the defaults of its name.
        mutating func change(_ name: String, by change: (inout Entry) -> Void) {
            change(&entries[name, default: Entry(name)])
        }
    }
}

extension Settings.Catalogue {
    /// What phones show for one event, and how urgently it is brought to them.
    package struct Entry: Equatable, Sendable {
        /// The event's name, or the notification's type.
        package let name: String
        /// What apps are told in `type`.
        package var dataType: String
        /// The first line; may be empty.
        package var title: Template = ""
        /// The text.
        package var body: Template = "{message}"
        /// The sound's name; empty: none.
        package var sound = "default"
        /// The actions that iOS offers with it; empty: none.
        package var category = ""
        /// What iOS groups it with; empty: whatever comes from the app.
        package var thread = ""
        /// The Android notification channel; empty: the app's default.
        package var channelID = ""
        /// Whether a sleeping phone is woken.
        package var priority = Priority.high
        /// Seconds for which it is worth delivering (1–2,419,200).
        package var lifetimeSeconds: Int
        /// What a newer one replaces.
        package var collapse = Collapse.notification
        /// True: delivered in quiet hours too.
        package var urgent = false
        /// Whether it is pushed; nil: nothing said, as the general mode has it.
        package var push: Push?

        /// An entry with the defaults of its name.
        package init(_ name: String) {
            self.name = name
            dataType = Self.dataType(of: name)
            lifetimeSeconds = Self.lifetimeSeconds(of: dataType)
        }

        /// Whether a sleeping phone is woken.
        package enum Priority: String, CaseIterable, Sendable {
            case high, normal
        }

        /// What a newer one replaces: only itself sent again, or whatever was said about the same order or route.
        package enum Collapse: String, CaseIterable, Sendable {
            case notification, order
        }

        /// Whether it is pushed: always, to who is not connected, or never.
        package enum Push: String, CaseIterable, Sendable {
            case mirror, fallback, off
        }
    }
}

extension Settings.Catalogue.Entry {
    /// Event names are in kebab case, types are not, and stay as they are.
    private static func dataType(of name: String) -> String {
        let isEvent = name.utf8.allSatisfy { $0.isLowercase || $0.isDigit || $0 == UInt8(ascii: "-") }
        return isEvent ? EventNames.type(ofEvent: name) : name
    }

    private static func lifetimeSeconds(of dataType: String) -> Int {
        switch dataType {
        case "new_job": 3_600  // by then another driver has it
        case "driver_arrival": 600  // by then he has left, or has been found
        default: 86_400
        }
    }
}

// MARK: Reading

extension Settings.Catalogue {
    /// Changes what a file says; other entries stay.
    mutating func read(_ root: Section) {
        root.named(.catalogueName) { name, section in
            change(name) { $0.read(section) }
        }
    }
}

extension Settings.Catalogue.Entry {
    fileprivate mutating func read(_ entry: Section) {
        let isLifetimeOfType = lifetimeSeconds == Self.lifetimeSeconds(of: dataType)
        entry.text("data_type", into: &dataType, .identifier)
        if isLifetimeOfType { lifetimeSeconds = Self.lifetimeSeconds(of: dataType) }
        entry.template("title", into: &title)
        entry.template("body", into: &body)
        entry.text("sound", into: &sound, .label)
        entry.text("category", into: &category, .label)
        entry.text("thread", into: &thread, .label)
        entry.text("channel_id", into: &channelID, .label)
        entry.choice("priority", into: &priority)
        entry.lifetime("lifetime", into: &lifetimeSeconds)
        entry.choice("collapse", into: &collapse)
        entry.flag("urgent", into: &urgent)
        entry.choice("push", into: &push)
    }
}
