import Fleet

// Reads config/notifications.yaml. The key of each entry is an event's name or a notification's type, and the value is
// a map of options.

extension NotificationCatalogue {
    /// Applies a file's entries. Entries and options that are not in the file keep their values.
    mutating func read(_ root: Section) {
        root.entries(named: .catalogueName) { name, section in
            update(name) { $0.read(section) }
        }
    }
}

extension NotificationCatalogue.Entry {
    fileprivate mutating func read(_ entry: Section) {
        // The default lifetime depends on `data_type`. If the entry has the default of its old type, it gets that of
        // the new one.
        let hasDefaultLifetime = lifetimeSeconds == Self.defaultLifetimeSeconds(ofType: dataType)
        entry.text("data_type", into: &dataType, .identifier)
        if hasDefaultLifetime { lifetimeSeconds = Self.defaultLifetimeSeconds(ofType: dataType) }
        entry.template("title", into: &title)
        entry.templates("body", into: &body, countMax: 5)
        entry.text("sound", into: &sound, .displayOption)
        entry.text("category", into: &category, .displayOption)
        entry.text("thread", into: &thread, .displayOption)
        entry.text("channel_id", into: &channelID, .displayOption)
        entry.choice("priority", into: &priority)
        entry.lifetime("lifetime", into: &lifetimeSeconds)
        entry.choice("collapse", into: &collapse)
        entry.flag("urgent", into: &urgent)
        entry.choice("push", into: &push)
        entry.flag("broadcast", into: &broadcast)
        entry.texts("data", named: .dataName, .dataText, countMax: 10) { fields in
            data = fields.map { NotificationCatalogue.DataField($0.name, $0.text) }
        }
    }
}
