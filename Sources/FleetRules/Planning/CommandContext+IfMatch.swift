extension CommandContext {
    /// Checks that the job has the version that `If-Match` requires, if the request has this header.
    /// - Throws: `.conflict` (409) if the job does not have the expected version.
    func checkVersion(of job: some Job) throws(RuleError) {
        guard let expectedVersion, expectedVersion != job.assignment.version else { return }
        throw RuleError(
            .conflict, "\(job.label) has version \(job.assignment.version); If-Match requires version \(expectedVersion)")
    }
}
