import Threads

/// A thread that owns what it has opened.
enum StoreThread {
    /// Starts a thread, which opens the owner of its state; returns when that has worked, and throws when it has not.
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
