/// Detects poison jobs. A poison job is refused twice with a configuration error, although other jobs were accepted
/// in between: the error then concerns the job and not the configuration. The lane rejects the job, because each
/// further refusal would stop the lane, and delay all other jobs by a probe interval.
///
/// A lane stops at most once in 30 s, so few jobs have to be remembered. They are not kept across a restart.
struct PoisonJobs {
    /// Maximum number of jobs remembered. One more makes the lane forget the oldest.
    static let countMax = 64

    /// The jobs that have stopped the lane, each with the number of jobs accepted before it did so for the first time.
    private var stops: [(job: Int64, accepted: Int)] = []
    /// The number of jobs accepted so far.
    private var accepted = 0

    mutating func recordAccepted() { accepted += 1 }

    /// Records that the provider refused a job with a configuration error while the lane was running. Returns true if
    /// it is a poison job: the same happened before, and other jobs were accepted since.
    mutating func recordRefusal(of job: Int64) -> Bool {
        guard let index = stops.firstIndex(where: { $0.job == job }) else {
            if stops.count == Self.countMax { stops.removeFirst() }
            stops.append((job, accepted))
            return false
        }
        guard accepted > stops[index].accepted else { return false }
        stops.remove(at: index)
        return true
    }
}
