extension CommandContext {
    /// Checks that the job has the version that `If-Match` requires, if the request has this header.
    /// - Throws: `.conflict` (409) if the job does not have the expected version.
    func checkVersion(of job: some Job) throws(RuleError) {
        try checkVersion(job.assignment.version, of: job.label)
    }

    /// Checks the version of something else that has one.
    /// - Parameter label: how the error names it, such as `Driver 42`.
    func checkVersion(_ version: Int, of label: String) throws(RuleError) {
        guard let expectedVersions, !expectedVersions.contains(version) else { return }
        // As many as an error may show; clients send one.
        let shown = expectedVersions.prefix(5).map(String.init).joined(separator: " or ")
        throw RuleError(.wrongVersion, label, "\(version)", shown)
    }
}
