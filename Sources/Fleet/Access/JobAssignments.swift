/// Which drivers are assigned to which jobs: orders that have a driver and have not ended. Looked up by the jobs'
/// references, which are part of the names of their channels, `tracking-…` and `booking-…`.
struct JobAssignments {
    private struct Entry: Hashable {
        let reference: String
        let driverID: String
    }

    /// The jobs that have a driver, by order code.
    private var jobs: [String: Entry] = [:]
    /// The number of jobs with the same driver and reference. Not a list of drivers by reference: a backend may give all
    /// its jobs one reference, and every change of a job would search the list, under the hub's lock.
    private var counts: [Entry: Int] = [:]

    /// Whether a driver has a job with this reference.
    func isAssigned(_ driverID: String, reference: String) -> Bool {
        counts[Entry(reference: reference, driverID: driverID)] != nil
    }

    /// Sets a job's driver, or clears it if `driverID` is nil.
    /// - Returns: the driver who lost access to the channels of a reference, and that reference; nil if no driver did.
    mutating func set(_ orderCode: String, reference: String, driverID: String?) -> (driverID: String, reference: String)? {
        let before = jobs.removeValue(forKey: orderCode)
        if let before { remove(before) }
        if let driverID {
            let job = Entry(reference: reference, driverID: driverID)
            jobs[orderCode] = job
            counts[job, default: 0] += 1
        }
        guard let before, !isAssigned(before.driverID, reference: before.reference) else { return nil }
        return (before.driverID, before.reference)
    }

    private mutating func remove(_ job: Entry) {
        guard let count = counts[job] else { return }
        counts[job] = count > 1 ? count - 1 : nil
    }
}
