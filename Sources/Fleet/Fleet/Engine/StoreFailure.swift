import Threads

/// Why a gateway writes nothing more until it is started anew. Only a new process reads what there is; a write that succeeds
/// proves nothing about other pages, or about another file.
package enum StoreFailure: Equatable, Sendable {
    /// A file of the store is no longer at its path.
    case lost(StoreLoss)
    /// The database is damaged. Any thread may have found it.
    case damaged(DatabaseError)
}

extension StoreEvent {
    /// The failure that the event shows, if it shows one.
    var failure: StoreFailure? {
        switch self {
        case .unavailable(let error), .failed(let error, _), .backgroundTaskFailed(let error, _), .checkpointFailed(let error):
            error.kind == .damaged ? .damaged(error) : nil
        case .recovered, .stopped, .migrating, .clock, .logGrows, .unreadable: nil
        }
    }
}

extension Lock where Value == StoreStatistics {
    /// Records that the store has failed. The first failure stays, and is reported once.
    func fail(_ failure: StoreFailure, onEvent: (StoreEvent) -> Void) {
        let isFirst = withLock { counts in
            guard counts.failure == nil else { return false }
            counts.failure = failure
            return true
        }
        if isFirst { onEvent(.stopped(failure)) }
    }

    var failure: StoreFailure? { withLock { $0.failure } }
}
