/// The names of a catalogue's entries, and which of them an event goes by. What is decided when it is told (for how long it is
/// worth delivering, whether phones get it) and when it is pushed (with which words) is then decided by one entry.
package struct CatalogueIndex: Equatable, Sendable {
    private let names: Set<String>
    /// Those which are types, by the event that each is told as.
    private let types: [String: String]

    package init(_ names: some Sequence<String>) {
        self.names = Set(names)
        // In alphabetical order, so that of two types told as one event it is the same one in every process.
        types = self.names.sorted().reduce(into: [:]) { types, name in
            let event = EventNames.event(ofType: name)
            if types[event] == nil { types[event] = name }
        }
    }

    /// Its own name, else the type that is told as this event, else what phones call it; nil when there is no such entry.
    package func entry(ofEvent event: String) -> String? {
        if names.contains(event) { return event }
        if let type = types[event] { return type }
        let type = EventNames.type(ofEvent: event)
        return names.contains(type) ? type : nil
    }

    /// The type that is told as this event, if there is one.
    package func type(ofEvent event: String) -> String? { types[event] }
}
