import Access
import JSON

/// Withholds the customer's name and the addresses of a job that a driver no longer has, in the list of the driver's
/// notifications. A driver who has completed a job keeps them; a cancelled job is nobody's.
///
/// The log itself stays as it is: what a device missed is replayed to it byte for byte, and an order that is assigned to
/// the driver again is shown again.
struct FormerJobs {
    /// The only event to a driver with these members. (Announcements contain what a backend tells the driver.)
    private static let event = "job-assigned"
    private static let withheld: [StaticString] = ["customerName", "pickupAddress", "dropoffAddress"]

    let orders: OrderTable

    /// - Parameter page: notifications to `driver`, at most a page, because each may need a look-up of its order.
    func withheld(from page: [LoggedNotification], to driver: Identity) throws(DatabaseError) -> [LoggedNotification] {
        var isDrivers: [String: Bool] = [:]
        var result = page
        for (index, logged) in page.enumerated() where logged.notification.event == Self.event {
            let data = logged.notification.data
            // Nil if the customer's data was erased, or the order had none.
            guard let rest = JSONRedaction.apply(to: data, TextSearch([]), JSONRedaction.Rules(cleared: Self.withheld)),
                let id = Self.bookingID(in: data)
            else { continue }
            if isDrivers[id] == nil { isDrivers[id] = try self.isDrivers(id, driver) }
            if isDrivers[id] == false { result[index] = logged.replacing(data: rest) }
        }
        return result
    }

    private func isDrivers(_ bookingID: String, _ driver: Identity) throws(DatabaseError) -> Bool {
        guard let order = try orders.order(job: bookingID, driverID: driver.id) else { return false }
        return order.assignment.status != .cancelled && order.assignment.driver?.id.text.hasSameBytes(as: driver.id) == true
    }

    private static func bookingID(in data: [UInt8]) -> String? {
        var id: String?
        try? data.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { key, value in if key.equals("bookingId") { id = value.string } }
        }
        return id
    }
}

extension LoggedNotification {
    fileprivate func replacing(data: [UInt8]) -> LoggedNotification {
        LoggedNotification(
            notification: Notification(
                id: notification.id, channel: notification.channel, event: notification.event, data: data,
                createdAt: notification.createdAt, expiresAt: notification.expiresAt, collapseKey: notification.collapseKey),
            sequence: sequence, correlationID: correlationID, actor: actor, action: action, readAt: readAt)
    }
}
