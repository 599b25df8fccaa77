import Primitives

/// The status and the driver of a job: what orders and routes have in common.
package struct Assignment: Equatable, Sendable {
    package var status = JobStatus.available
    /// Nil if the job has no driver.
    package var driver: Driver?
    /// 0 for a job that is not stored yet, 1 once it is stored; each later change adds 1. Clients send the version back
    /// in `If-Match`.
    package var version = 0

    /// The driver of a job.
    package struct Driver: Equatable, Sendable {
        package let id: Identifier
        /// The name in the last assignment or, if the driver claimed the job, in the driver's token. Nil if the
        /// assignment or token contained no name.
        package var name: String?

        package init(id: Identifier, name: String? = nil) {
            self.id = id
            self.name = name
        }
    }

    package init(status: JobStatus = .available, driver: Driver? = nil, version: Int = 0) {
        self.status = status
        self.driver = driver
        self.version = version
    }
}

// MARK: Admins

extension Assignment {
    /// An admin's change. `fallback` is the driver that the request names. This driver is notified if the stored job
    /// has none, because the backend assigned the job before the gateway knew the job.
    enum Change {
        case assign(Driver)
        case unassign(fallback: Identifier?)
        case cancel(fallback: Identifier?)
    }

    /// The effect of a change: `from` is the previous driver, nil if there was none. `.cancelled(nil)` means that there
    /// is no driver to notify.
    enum Transition {
        case assigned(Driver, from: Identifier?)
        case unassigned(Identifier)
        case cancelled(Identifier?)
    }

    /// Applies a change. Returns nil if the same driver is assigned again; only the driver's name may change then.
    /// - Parameter label: the job's name in errors, such as `Order ORD-1`.
    /// - Throws: `.conflict` (409) if the job is completed or cancelled, or has no driver to unassign.
    mutating func apply(_ change: Change, label: String) throws(RuleError) -> Transition? {
        try status.checkOpen(label)
        switch change {
        case .assign(let new) where new.id == driver?.id:
            if let name = new.name { driver?.name = name }
            return nil
        case .assign(let new):
            let former = driver?.id
            (status, driver) = (.assigned, new)
            return .assigned(new, from: former)
        case .unassign(let fallback):
            guard let former = driver?.id ?? fallback else { throw RuleError(.withoutDriver, label) }
            (status, driver) = (.available, nil)
            return .unassigned(former)
        case .cancel(let fallback):
            status = .cancelled
            return .cancelled(driver?.id ?? fallback)
        }
    }
}

// MARK: Drivers

extension Assignment {
    /// The effect of a driver's acceptance.
    enum Acceptance {
        /// No effect: the same driver has accepted the job before.
        case alreadyAccepted
        /// The driver confirms the assignment.
        case confirmed
        /// The job, which had no driver, is assigned to the driver.
        case claimed
    }

    /// Accepts the job for a driver.
    /// - Parameters:
    ///   - label: the job's name in errors, such as `Order ORD-1`.
    ///   - noun: `job` or `route`, for the error about another driver.
    /// - Throws: `.conflict` (409) if the job is completed or cancelled, or has another driver.
    mutating func accept(by new: Driver, label: String, noun: String) throws(RuleError) -> Acceptance {
        try status.checkOpen(label)
        guard let driver else {
            (status, self.driver) = (.accepted, new)
            return .claimed
        }
        guard driver.id == new.id else {
            throw RuleError(.jobTaken, noun)
        }
        guard status == .available || status == .assigned else { return .alreadyAccepted }
        status = .accepted
        return .confirmed
    }
}
