import Primitives

/// What bounds the codes that are sent, and the guesses of e-mail addresses. The raw value is the label `limit` of the metric
/// `otp_limited_total`.
package enum SignInCodeLimit: String, CaseIterable, Sendable {
    /// The codes of one phone.
    case phone
    /// The requests of a client address for codes, in ten minutes.
    case requestsPerAddress = "requests_per_address"
    /// The tries of a client address, in ten minutes.
    case triesPerAddress = "tries_per_address"
    /// All codes of a day.
    case dailyMax = "daily_max"
    /// The codes of a day to phones without an account, for which half of ``dailyMax`` is not there.
    case newPhones = "new_phones"
    /// The codes of a day to phones without an account whose numbers begin alike.
    case prefix = "prefix_daily_max"
    /// The same phones, after many codes without a sign-in.
    case stoppedPrefix = "prefix_stopped"
    /// The codes of a day to phones without an account that one client address has asked for.
    case address
    /// The e-mail addresses of others that a customer has named.
    case email
}

/// Why no code is sent.
package struct SignInCodeRefusal: Equatable, Sendable {
    package let limit: SignInCodeLimit
    package let error: RuleError

    /// - Parameter wait: the seconds until it may be tried again.
    init(_ limit: SignInCodeLimit, wait: Int) {
        self.limit = limit
        // A phone's own limits are the caller's affair, all others are the gateway's.
        error = RuleError(limit == .phone ? .tooManyRequests : .codesLimited, retryAfterSeconds: wait)
    }
}
