import Primitives

/// Limits the requests of each client address within a sliding window. The addresses of an IPv6 /64 count as one.
///
/// The number of stored addresses is bounded. An address that goes on is not forgotten.
package struct RequestWindows {
    private let most: Int
    private let window: Int64
    /// When each address has made its requests of the window, oldest first.
    private var times: RecentMap<IPAddress, [Int64]>

    /// - Parameters:
    ///   - most: the most requests of an address within the window.
    ///   - milliseconds: the window.
    ///   - addressesMax: the most stored addresses, at least 2.
    package init(most: Int, milliseconds: Int64, addressesMax: Int) {
        self.most = most
        window = milliseconds
        times = RecentMap(countMax: addressesMax)
    }

    /// The number of stored addresses.
    package var count: Int { times.count }

    /// Counts a request, unless it is one too many.
    /// - Parameter now: milliseconds on the monotonic clock.
    /// - Returns: the seconds until the address may make another one; nil if it may make this one.
    package mutating func wait(_ address: IPAddress, now: Int64) -> Int? {
        let address = address.subscriber
        var inWindow = (times.use(address) ?? []).filter { now - $0 < window }
        let wait: Int?
        if inWindow.count >= most {
            wait = max(1, Int((inWindow[inWindow.count - most] + window - now + 999) / 1_000))
        } else {
            wait = nil
            inWindow.append(now)
        }
        times.store(inWindow, for: address)
        return wait
    }
}
