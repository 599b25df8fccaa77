import FleetRules

/// What phones show for each event: the catalogue, as pushes ask it.
package struct PushTemplates: Sendable {
    private let catalogue: NotificationCatalogue
    private let names: CatalogueIndex
    private let mode: NotificationCatalogue.PushMode

    /// - Parameter mode: for entries that say nothing themselves.
    package init(_ catalogue: NotificationCatalogue, mode: NotificationCatalogue.PushMode) {
        self.catalogue = catalogue
        self.mode = mode
        names = CatalogueIndex(catalogue.names)
    }

    /// The entry that an event goes by (``CatalogueIndex/entry(ofEvent:)``); nil where there is none.
    package func entry(ofEvent event: String) -> NotificationCatalogue.Entry? {
        names.entry(ofEvent: event).flatMap { catalogue.entry(for: $0) }
    }

    /// The catalogue's type that is told as this event, if there is one: `NEW_BATCH_AVAILABLE` of `new-batch-available`.
    package func type(ofEvent event: String) -> String? { names.type(ofEvent: event) }

    /// Whether an entry is pushed: as it says itself, else as all are.
    package func mode(of entry: NotificationCatalogue.Entry) -> NotificationCatalogue.PushMode { entry.push ?? mode }
}
