import FleetRules

/// The catalogue's texts and push modes by event.
package struct PushCatalogue: Sendable {
    private let catalogue: NotificationCatalogue
    private let names: CatalogueIndex
    private let mode: NotificationCatalogue.PushMode

    /// - Parameter mode: for entries without one.
    package init(_ catalogue: NotificationCatalogue, mode: NotificationCatalogue.PushMode) {
        self.catalogue = catalogue
        self.mode = mode
        names = CatalogueIndex(catalogue.names)
    }

    /// The entry of an event (``CatalogueIndex/entryName(ofEvent:)``); nil if there is none.
    package func entry(ofEvent event: String) -> NotificationCatalogue.Entry? {
        names.entryName(ofEvent: event).flatMap { catalogue.entry(for: $0) }
    }

    /// The catalogue's type that is published as this event, if any: `NEW_BATCH_AVAILABLE` for `new-batch-available`.
    package func type(ofEvent event: String) -> String? { names.type(ofEvent: event) }

    /// When to push an entry: its own mode, else the default.
    package func mode(of entry: NotificationCatalogue.Entry) -> NotificationCatalogue.PushMode { entry.push ?? mode }
}
