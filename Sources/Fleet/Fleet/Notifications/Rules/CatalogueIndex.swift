/// Finds the catalogue entry of an event. Planning (lifetime, whether to push) and pushing (texts) both use this type,
/// so that they find the same entry.
package struct CatalogueIndex: Equatable, Sendable {
    private let names: Set<String>
    /// Notification types by the event that each is published as.
    private let types: [String: String]

    /// - Parameter names: the names of the catalogue's entries.
    package init(_ names: some Sequence<String>) {
        self.names = Set(names)
        // Two types may be published as the same event (`NEW_JOB`, `new_job`). A set's order differs between processes,
        // so the names are sorted: every process then chooses the same type, the first.
        types = self.names.sorted().reduce(into: [:]) { types, name in
            let event = EventNames.event(ofType: name)
            if types[event] == nil { types[event] = name }
        }
    }

    /// The name of the event's entry, looked up in this order: the event's name, the notification type that is
    /// published as this event, the type that apps use for the event (`new_job`). Nil if there is no entry.
    package func entryName(ofEvent event: String) -> String? {
        if names.contains(event) { return event }
        if let type = types[event] { return type }
        let type = EventNames.type(ofEvent: event)
        return names.contains(type) ? type : nil
    }

    /// The notification type that is published as this event; nil if there is none.
    package func type(ofEvent event: String) -> String? { types[event] }
}
