import HTTPClient

/// The header `retry-after` (RFC 9110, 10.2.3).
enum RetryAfter {
    /// Milliseconds from now, from 0 to 2,419,200,000 (28 days, FCM's longest lifetime of a message); nil if the header
    /// is absent, or is neither a number nor a date. How much of it is honoured says ``LaneRules/retryAfterMax``.
    static func milliseconds(of response: HTTPClientResponse, now: Int64) -> Int64? {
        guard let text = response.headers["retry-after"] else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) {
            return min(Int64(text) ?? secondsMax, secondsMax) * 1000
        }
        guard let date = HTTPDate.seconds(of: text) else { return nil }
        // Clamped in seconds: a far date would overflow in milliseconds.
        let seconds = min(max(date - now / 1000, 0), secondsMax)
        return max(seconds * 1000 - now % 1000, 0)
    }

    /// 28 days.
    private static let secondsMax: Int64 = 2_419_200
}
