/// Which driver has which open job, as far as channels are concerned: by the reference in their names.
struct JobAssignments {
    private struct Entry {
        let reference: String
        let driverID: String
    }

    private var jobs: [String: Entry] = [:]
    /// Several orders may be of one booking.
    private var drivers: [String: [String]] = [:]

    func isAssigned(_ driverID: String, reference: String) -> Bool { drivers[reference]?.contains(driverID) ?? false }

    /// Notes who has an order now.
    /// - Returns: the driver who has lost a reference by it, and which.
    mutating func set(_ code: String, reference: String, driverID: String?) -> (driverID: String, reference: String)? {
        let before = jobs.removeValue(forKey: code)
        if let before { remove(before) }
        if let driverID {
            jobs[code] = Entry(reference: reference, driverID: driverID)
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
