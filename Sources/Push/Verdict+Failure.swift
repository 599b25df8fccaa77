import HTTPClient

extension Verdict {
    /// What it means that no answer came: the job is tried again, whatever may have become of the first try. A phone that is
    /// shown it twice shows it once, by its collapse id.
    package init(_ failure: HTTPFailure) {
        let reason =
            switch failure {
            case .notSent(let text): "not sent: \(text)"
            case .lost(let text): "connection lost: \(text)"
            case .timedOut: "timed out"
            }
        self = .retry(reason: reason, after: nil)
    }
}
