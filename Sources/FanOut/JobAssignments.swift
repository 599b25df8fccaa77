/// Which drivers are assigned to which jobs: orders that have a driver and have not ended. Looked up by the jobs'
/// references, which are part of the names of their channels, `tracking-…` and `booking-…`.
struct JobAssignments {
    private struct Entry {
        let reference: String
        let driverID: String
    }

    /// The jobs that have a driver, by order code.
    private var jobs: [String: Entry] = [:]
    /// The ids of the drivers of these jobs, by reference. Several jobs may have one reference, so a driver may occur
    /// more than once.
    private var drivers: [String: [String]] = [:]

    /// Whether a driver has a job with this reference.
    func isAssigned(_ driverID: String, reference: String) -> Bool { drivers[reference]?.contains(driverID) ?? false }

    /// Sets a job's driver, or clears it if `driverID` is nil.
    /// - Returns: the driver who lost access to the channels of a reference, and that reference; nil if no driver did.
    mutating func set(_ orderCode: String, reference: String, driverID: String?) -> (driverID: String, reference: String)? {
        let before = jobs.removeValue(forKey: orderCode)
        if let before { remove(before) }
        if let driverID {
            jobs[orderCode] = Entry(reference: reference, driverID: driverID)
            drivers[reference, default: []].append(driverID)
        }
        guard let before, !isAssigned(before.driverID, reference: before.reference) else { return nil }
        return (before.driverID, before.reference)
    }

    private mutating func remove(_ job: Entry) {
        guard let index = drivers[job.reference]?.firstIndex(of: job.driverID) else { return }
        drivers[job.reference]?.remove(at: index)
        if drivers[job.reference]?.isEmpty == true { drivers[job.reference] = nil }
    }
}
