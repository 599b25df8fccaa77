/// Jobs that have stopped the lane, which may be their fault and not the configuration's: of the one who stops it again, after
/// others were accepted, it is. Else one notification that a provider does not want from us would cost all others a probe's
/// wait each time its turn comes.
///
/// A lane that stops does so every half minute at most, so that few are remembered; after a restart they begin anew.
struct PoisonJobs {
    static let countMax = 64

    /// How many jobs had been accepted when they stopped it first.
    private var stops: [(job: Int64, accepted: Int)] = []
    private var accepted = 0

    mutating func recordAccepted() { accepted += 1 }

    /// A job has stopped the lane, which was running. True if it did so before, and others were accepted since.
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
