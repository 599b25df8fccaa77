/// The actor, an admin, sends a notification.
package struct Announce: Command {
    package let announcement: Announcement

    package init(_ announcement: Announcement) { self.announcement = announcement }

    package var name: String { "announce" }
    package var subject: String { announcement.type }
    package var priority: RequestPriority { isForMany ? .bulk : .dispatch }

    /// It supersedes nothing.
    package var rows: Int {
        isForMany
            ? RowBound.change + announcement.recipients * RowBound.notification + 1
            : RowBound.change
                + announcement.recipients * (RowBound.notification + DeviceRegistration.devicesMax + 3)
    }

    /// Whether its pushes are created later.
    private var isForMany: Bool { announcement.recipients > CommandExecutor.pushesMax }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        var announcement = announcement
        if case .drivers(let drivers) = announcement.audience {
            let accounts = transaction.stores.accounts
            announcement.audience = .drivers(
                try drivers.map { driver throws(DatabaseError) in try DriverReference(driver).channelID(accounts) })
        }
        return try transaction.plan { [announcement] planner, context throws(RuleError) in
            try planner.announce(announcement, context)
        }
    }
}

extension Announcement {
    /// The number of people who are named; 1 for all drivers.
    fileprivate var recipients: Int { if case .drivers(let drivers) = audience { drivers.count } else { 1 } }
}
