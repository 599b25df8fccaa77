import Configuration

/// What phones show for each event: the catalogue, as pushes ask it.
package struct PushTexts: Sendable {
    private let catalogue: Settings.Catalogue
    private let mode: Settings.Catalogue.Entry.Push
    /// The types that admins send, by the event that each is told as.
    private let types: [String: String]

    /// - Parameter mode: for entries that say nothing themselves.
    package init(_ catalogue: Settings.Catalogue, mode: Settings.Catalogue.Entry.Push) {
        self.catalogue = catalogue
        self.mode = mode
        // In alphabetical order, so that of two types told as one event it is the same one in every process.
        types = catalogue.names.reduce(into: [:]) { types, name in
            let event = Self.event(ofType: name)
            if types[event] == nil { types[event] = name }
        }
    }

    /// The entry of that name, else that of the type which is told as this event; nil where there is neither.
    package func entry(ofEvent event: String) -> Settings.Catalogue.Entry? {
        catalogue.entry(for: event) ?? type(ofEvent: event).flatMap { catalogue.entry(for: $0) }
    }

    /// The catalogue's type that is told as this event, if there is one: `NEW_BATCH_AVAILABLE` of `new-batch-available`.
    package func type(ofEvent event: String) -> String? { types[event] }

    /// Whether an entry is pushed: as it says itself, else as all are.
    package func mode(of entry: Settings.Catalogue.Entry) -> Settings.Catalogue.Entry.Push { entry.push ?? mode }

    /// A type in lower-case kebab, as announcements are told.
    private static func event(ofType type: String) -> String {
        String(decoding: type.lowercased().utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }, as: UTF8.self)
    }
}
