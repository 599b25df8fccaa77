import Configuration
import Store

extension Settings.Store {
    /// Where the store is.
    package var address: StoreAddress { url.isEmpty ? .file(path) : .postgres(url) }

    /// The number of threads that read. A file needs one: its reads do not wait for a server.
    var readerCount: Int { url.isEmpty ? 1 : pool }
}
