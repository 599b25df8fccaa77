import HTTPClient

/// How long a provider wants to be left alone: the header `retry-after` (RFC 9110, 10.2.3).
enum RetryAfter {
    /// Milliseconds from now (0…2,419,200,000: nothing lives longer than 28 days); nil where it does not say, or not in a way
    /// that can be read.
    static func milliseconds(of reply: HTTPClientResponse, now: Int64) -> Int64? {
        guard let text = reply.headers["retry-after"] else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) {
            return min(Int64(text) ?? secondsMax, secondsMax) * 1000
        }
        guard let date = HTTPDate.seconds(of: text) else { return nil }
        // In seconds first: a date may be as far away as the numbers go.
        let seconds = min(max(date - now / 1000, 0), secondsMax)
        return max(seconds * 1000 - now % 1000, 0)
    }

    private static let secondsMax: Int64 = 2_419_200
}
