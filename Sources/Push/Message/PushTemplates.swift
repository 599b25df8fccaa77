import Configuration
import FleetRules

/// What phones show for each event: the catalogue, as pushes ask it.
package struct PushTemplates: Sendable {
    private let catalogue: Settings.Catalogue
    private let names: CatalogueIndex
    private let mode: Settings.Catalogue.Entry.Push

    /// - Parameter mode: for entries that say nothing themselves.
    package init(_ catalogue: Settings.Catalogue, mode: Settings.Catalogue.Entry.Push) {
        self.catalogue = catalogue
        self.mode = mode
        names = CatalogueIndex(catalogue.names)
    }

    /// The entry that an event goes by (``CatalogueIndex/entry(ofEvent:)``); nil where there is none.
    package func entry(ofEvent event: String) -> Settings.Catalogue.Entry? {
        names.entry(ofEvent: event).flatMap { catalogue.entry(for: $0) }
    }

    /// The catalogue's type that is told as this event, if there is one: `NEW_BATCH_AVAILABLE` of `new-batch-available`.
    package func type(ofEvent event: String) -> String? { names.type(ofEvent: event) }

    /// Whether an entry is pushed: as it says itself, else as all are.
    package func mode(of entry: Settings.Catalogue.Entry) -> Settings.Catalogue.Entry.Push { entry.push ?? mode }
}
