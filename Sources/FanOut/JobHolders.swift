/// Which driver has which open job, as far as channels are concerned: by the reference in their names.
struct JobHolders {
    private struct Job {
        let reference: String
        let driverID: String
    }

    private var jobs: [String: Job] = [:]
    /// Several orders may be of one booking.
    private var drivers: [String: [String]] = [:]

    func holds(_ driverID: String, reference: String) -> Bool { drivers[reference]?.contains(driverID) ?? false }

    /// Notes who has an order now.
    /// - Returns: the driver who has lost a reference by it, and which.
    mutating func set(_ code: String, reference: String, driverID: String?) -> (driverID: String, reference: String)? {
        let before = jobs.removeValue(forKey: code)
        if let before { remove(before) }
        if let driverID {
            jobs[code] = Job(reference: reference, driverID: driverID)
            drivers[reference, default: []].append(driverID)
        }
        guard let before, !holds(before.driverID, reference: before.reference) else { return nil }
        return (before.driverID, before.reference)
    }

    private mutating func remove(_ job: Job) {
        guard let index = drivers[job.reference]?.firstIndex(of: job.driverID) else { return }
        drivers[job.reference]?.remove(at: index)
        if drivers[job.reference]?.isEmpty == true { drivers[job.reference] = nil }
    }
}
