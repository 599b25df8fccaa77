import Configuration
import Store

extension Settings.Store {
    /// Where the store is.
    package var address: StoreAddress { url.isEmpty ? .file(path) : .postgres(url) }
}
