import Fleet

/// Sample values for the fields of one type of event or notification.
///
/// When an event gains a field, add the field here; otherwise `check-config` warns about every template that uses it.
struct SampleData {
    private let values: [String: String]
    /// True: the name is not one of the fleet's events below, so the sender of the notification chooses its fields.
    private let senderChoosesFields: Bool

    /// - Parameter name: an event's name or a notification's type. Events that only `admin-channel` receives, such as
    ///   `order-assigned`, have no samples, because they are never pushed.
    init(for name: String) {
        let data = Self.event(name)
        senderChoosesFields = data == nil
        var values = data ?? Self.announcement(name)
        values["notificationId"] = "01KAMF3Z8S5Q0W7R2T4Y6V8X9B"
        values["correlationId"] = "8c1d7e52"
        self.values = values
    }

    /// A field's sample value. For a field without a sample: the field's name in brackets if the sender chooses the
    /// fields; otherwise nil, because the event never has the field.
    func value(of field: String) -> String? {
        values[field] ?? (senderChoosesFields ? "[\(field)]" : nil)
    }

    /// The template with sample values. A sender's own `message` is left out if the template has other words, because
    /// it may replace them.
    func render(_ template: Template) -> String {
        let words = senderChoosesFields ? template.render { $0 == "message" ? nil : value(of: $0) } : ""
        return words.isEmpty ? template.render(value) : words
    }

    // MARK: Events of the fleet

    private static func event(_ name: String) -> [String: String]? {
        switch name {
        case "job-assigned":
            job(customer.merging(["scheduledAt": time, "totalGBP": "42.5"]) { $1 }, "New job assigned to you")
        case "job-removed": job(["reason": reason, "removedAt": time], "You have been removed from this job")
        case "job-cancelled": job(["reason": reason], "Your assigned job has been cancelled")
        case "job-corrected": job(["step": "en_route", "reason": reason], "Dispatch has taken back your arrival")
        case "job-removed-from-list": job([:], "This job has been removed from your active jobs")
        case "job-available-again": job(customer.merging(["availableAt": time]) { $1 }, "This job is now available again")
        case "job-accepted": job(["driverName": driver, "step": "accepted", "timestamp": time])
        case "job-progress": job(["driverName": driver, "step": "en_route", "timestamp": time])
        case "order-removed":
            ["orderRef": reference, "reason": reason, "message": "Order has been removed from your schedule by admin"]
        case "schedule-updated":
            ["type": "order_removed", "orderRef": reference, "routeId": "r-7", "timestamp": time]
        case "driver-removed": ["reason": reason, "removedAt": time, "message": "Your driver has been changed"]
        case "tracking-started": arrival
        case "tracking-stopped":
            ["reason": "booking_cancelled", "message": "Tracking stopped due to booking cancellation"]
        default: moment(name) ?? routeEvent(name)
        }
    }

    private static func moment(_ name: String) -> [String: String]? {
        guard let moment = TripMoment(event: name) else { return nil }
        let fields: [String: String] =
            switch moment {
            case .driverAssigned:
                ["vehicle_make": "Skoda", "vehicle_model": "Octavia", "vehicle_color": "blue", "license_plate": "LB21 XYZ"]
            case .enRoute, .nearby, .started, .destinationNear: ["eta_minutes": "4"]
            case .arrivalCorrected: ["eta_minutes": "4", "reason": reason]
            case .waiting: ["waiting_since": "2026-11-22T09:28:00Z", "waiting_minutes": "2"]
            case .completed: ["completed_at": "2026-11-22T09:30:00Z"]
            case .arrival: [:]
            }
        return arrival.merging(fields) { $1 }
    }

    private static func routeEvent(_ name: String) -> [String: String]? {
        switch name {
        case "route-assigned": route(["bookingsCount": "5", "dropsCount": "9"], "New route assigned to you")
        case "route-unassigned":
            route(["bookingsCount": "5", "dropsCount": "9", "earningsAdjustment": "-12.5"], "Route unassigned by admin")
        case "route-cancelled":
            route(["reason": reason, "bookingsCount": "5", "cancelledAt": time], "Route has been cancelled by admin")
        case "drop-removed": route(["dropId": "d-3", "reason": reason], "A drop has been removed from your route")
        case "batch-assigned":
            batch.merging(["routeId": "b-17", "message": "New batch assigned to you"]) { $1 }
        case "batch-cancelled":
            ["batchId": "b-17", "batchNumber": "17", "reason": reason, "message": "Batch has been cancelled by admin"]
        default: nil
        }
    }

    // MARK: Notification types that admins send

    /// Samples of the fields that the senders of a notification usually set. Senders may add other fields, and they
    /// write the message.
    private static func announcement(_ type: String) -> [String: String] {
        let fields: [String: String] =
            switch type {
            case "NEW_BATCH_AVAILABLE", "BATCH_REASSIGNED": batch
            case "DRIVER_APPROVED": ["action": "navigate_home"]
            case "DRIVER_REJECTED": ["action": "navigate_rejection", "reason": reason]
            case "ORDER_CANCELLED": ["orderId": "A-1042", "orderNumber": "1042", "batchId": "b-17", "cancelledBy": "customer"]
            case "driver_arrival": arrival
            default: [:]
            }
        return fields.merging(["message": "The sender's own words"]) { $1 }
    }

    // MARK: Shared values

    private static let reference = "BK-1042"
    private static let reason = "Customer request"
    private static let driver = "Ada"
    private static let time = "2026-11-22T09:30:00.000Z"
    private static let batch = ["batchId": "b-17", "batchNumber": "17", "zone": "Harbour", "orderCount": "6"]
    private static let customer = [
        "customerName": "Jo Smith", "pickupAddress": "12 Quay Street", "dropoffAddress": "9 Mill Lane",
    ]
    private static let arrival = [
        "reference": reference, "driver_id": "42", "driverName": driver, "timestamp": "2026-11-22T09:30:00Z",
    ]

    private static func job(_ rest: [String: String], _ message: String? = nil) -> [String: String] {
        var fields = rest.merging(["bookingId": "A-1042", "bookingReference": reference]) { $1 }
        fields["message"] = message
        return fields
    }

    private static func route(_ rest: [String: String], _ message: String) -> [String: String] {
        rest.merging(["routeId": "r-7", "routeNumber": "R7", "message": message]) { $1 }
    }
}
