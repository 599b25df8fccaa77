import Threads

/// Starts the store's threads. Each thread creates the state that it works on, so no other thread ever uses this state.
enum StoreThread {
    /// Starts a thread that calls `open` and then `run`. Returns as soon as `open` has returned.
    /// - Parameters:
    ///   - open: creates the thread's state.
    ///   - run: the thread's loop. The thread ends when it returns.
    /// - Throws: the error of `open`; the thread has then ended.
    static func start<State>(
        name: String, open: @escaping @Sendable () throws(StoreError) -> State, run: @escaping @Sendable (State) -> Void
    ) throws(StoreError) -> Thread {
        let opened = StartBarrier(1)
        let failure = Lock<StoreError?>(nil)
        let thread = Thread(name: name) {
            do throws(StoreError) {
                let state = try open()
                opened.arriveAndWait()
                run(state)
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
