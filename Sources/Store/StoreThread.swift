import Threads

/// Starts the store's threads. Each thread creates its own state, so no other thread ever uses that state.
enum StoreThread {
    /// Starts a thread that calls `open` and then `run`. Returns as soon as `open` has returned.
    /// - Parameters:
    ///   - open: creates the thread's state.
    ///   - run: the thread's loop.
    /// - Throws: the error of `open`; the thread has then ended.
    static func start<Owner>(
        name: String, open: @escaping @Sendable () throws(StoreError) -> Owner, run: @escaping @Sendable (Owner) -> Void
    ) throws(StoreError) -> Thread {
        let opened = StartBarrier(1)
        let failure = Lock<StoreError?>(nil)
        let thread = Thread(name: name) {
            do throws(StoreError) {
                let owner = try open()
                opened.arriveAndWait()
                run(owner)
            } catch {
                failure.withLock { $0 = error }
                opened.arriveAndWait()
            }
        }
        opened.waitForArrival()
        opened.open()
        if let error = failure.withLock({ $0 }) {
            thread.join()
            throw error
        }
        return thread
    }
}
