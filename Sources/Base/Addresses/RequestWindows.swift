/// Limits the requests of each client address within a sliding window. The addresses of an IPv6 /64 count as one.
///
/// The number of stored addresses is bounded. When half of the places are taken since the last time, the addresses that
/// have made no request since then are forgotten: that costs constant time per request, and an address that goes on is not
/// forgotten.
package struct RequestWindows {
    private let most: Int
    private let window: Int64
    private let addressesMax: Int
    /// When each address has made its requests of the window, oldest first.
    private var recent: [IPAddress: [Int64]] = [:]
    /// Those that ``recent`` contained before it was full.
    private var earlier: [IPAddress: [Int64]] = [:]

    /// - Parameters:
    ///   - most: the most requests of an address within the window.
    ///   - milliseconds: the window.
    ///   - addressesMax: the most stored addresses, at least 2.
    package init(most: Int, milliseconds: Int64, addressesMax: Int) {
        self.most = most
        window = milliseconds
        self.addressesMax = addressesMax
    }

    /// The number of stored addresses.
    package var count: Int { recent.count + earlier.count }

    /// Counts a request, unless it is one too many.
    /// - Parameter now: milliseconds on the monotonic clock.
    /// - Returns: the seconds until the address may make another one; nil if it may make this one.
    package mutating func wait(_ address: IPAddress, now: Int64) -> Int? {
        let address = address.subscriber
        var times = (recent[address] ?? earlier[address] ?? []).filter { now - $0 < window }
        let wait: Int?
        if times.count >= most {
            wait = max(1, Int((times[times.count - most] + window - now + 999) / 1_000))
        } else {
            wait = nil
            times.append(now)
        }
        if recent[address] == nil, recent.count >= addressesMax / 2 {
            earlier = recent
            recent = [:]
        }
        earlier[address] = nil
        recent[address] = times
        return wait
    }
}
