/// Detects poison jobs: a job that stops the lane twice, with successes of other jobs in between, is rejected. The
/// error is then the job's and not the configuration's, and each of its turns would cost all others a probe interval.
///
/// A lane stops at most once in 30 s, so few jobs have to be remembered. They are not kept across a restart.
struct PoisonJobs {
    /// Jobs remembered at most; beyond, the oldest is dropped.
    static let countMax = 64

    /// The jobs that stopped the lane once, and how many jobs had been accepted by then.
    private var stops: [(job: Int64, accepted: Int)] = []
    private var accepted = 0

    mutating func recordAccepted() { accepted += 1 }

    /// Records that a job stopped the running lane. Returns true if it did before, and others were accepted since.
    mutating func isPoison(_ job: Int64) -> Bool {
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
