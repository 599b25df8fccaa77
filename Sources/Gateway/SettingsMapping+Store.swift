import Configuration
import Store

extension Settings.Store {
    /// Where the store is.
    package var address: StoreAddress { url.isEmpty ? .file(path) : .postgres(url) }

    /// The number of threads that read. Those of a file do not wait for a server, so few of them use all cores.
    var readerCount: Int { url.isEmpty ? min(pool, 4) : pool }
}
