import CCurl

/// Dates as headers have them (RFC 9110, 5.6.7), read by libcurl: leniently, in all three forms and some more.
package enum HTTPDate {
    /// Seconds since 1970; nil for what is no date.
    package static func seconds(of text: String) -> Int64? {
        // "returns -1 if there was a parse error": the second before 1970 is nobody's.
        let seconds = Int64(curl_getdate(text, nil))
        return seconds == -1 ? nil : seconds
    }
}
