/// How many requests the next transaction takes: as many as a slow server executes in a given time, because each of them
/// waits for all.
struct TransactionSize {
    private let most: Int
    private let milliseconds: Int64?
    private(set) var value: Int

    /// - Parameters:
    ///   - first: how many the first transaction takes; nil: as many as may be.
    ///   - milliseconds: nil for no limit of time.
    init(most: Int, first: Int? = nil, milliseconds: Int64?) {
        self.most = most
        self.milliseconds = milliseconds
        value = milliseconds == nil ? most : first ?? most
    }

    /// Records how long a transaction took. At least one request is taken, and at most twice as many as before.
    mutating func record(_ count: Int, took duration: Int64) {
        guard let milliseconds, count > 0 else { return }
        let fitting = duration > 0 ? Int(Int64(count) * milliseconds / duration) : most
        value = max(1, min(fitting, value * 2, most))
    }
}
