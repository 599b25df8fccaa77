import CCurl

/// Parses dates of HTTP headers with libcurl: all three formats of RFC 9110 section 5.6.7, and some others.
package enum HTTPDate {
    /// Seconds since 1970; nil if the text is not a date.
    package static func seconds(of text: String) -> Int64? {
        // curl_getdate returns -1 on error. -1 also means 1969-12-31T23:59:59Z, but no server sends that date.
        let seconds = Int64(curl_getdate(text, nil))
        return seconds == -1 ? nil : seconds
    }
}
