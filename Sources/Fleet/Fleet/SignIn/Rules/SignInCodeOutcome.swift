/// What became of a request for a code or with one. The raw value is the label `outcome` of the metric `otp_total`.
package enum SignInCodeOutcome: String, CaseIterable, Sendable {
    case sent
    /// No further code: the last one is too fresh.
    case cooldown
    /// No code: one of ``SignInCodeLimit`` is reached.
    case limited
    /// The SMS adapter has not taken the code.
    case failed
    case verified
    case wrong
    /// The code or its session is over.
    case expired
}
