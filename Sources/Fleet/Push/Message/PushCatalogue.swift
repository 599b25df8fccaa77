import Fleet

/// The notification catalogue, from which each event gets its texts and its push mode.
package struct PushCatalogue: Sendable {
    private let catalogue: NotificationCatalogue
    private let names: CatalogueIndex
    private let defaultMode: NotificationCatalogue.PushMode

    /// - Parameter mode: the push mode of entries that do not set one.
    package init(_ catalogue: NotificationCatalogue, mode: NotificationCatalogue.PushMode) {
        self.catalogue = catalogue
        defaultMode = mode
        names = CatalogueIndex(catalogue.names)
    }

    /// The entry of an event (``CatalogueIndex/entryName(ofEvent:)``); nil if there is none.
    package func entry(ofEvent event: String) -> NotificationCatalogue.Entry? {
        names.entryName(ofEvent: event).flatMap { catalogue.entry(for: $0) }
    }

    /// The catalogue's type that is published as this event, if any: `NEW_BATCH_AVAILABLE` for `new-batch-available`.
    package func type(ofEvent event: String) -> String? { names.type(ofEvent: event) }

    /// The push mode of an entry: its own, else the default.
    package func mode(of entry: NotificationCatalogue.Entry) -> NotificationCatalogue.PushMode { entry.push ?? defaultMode }
}
