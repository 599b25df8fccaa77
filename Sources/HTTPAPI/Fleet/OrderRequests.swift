import FleetRules
import JSON

/// From bodies to what is asked (DESIGN.md section 2, Requests).
extension JSONBody {
    /// Drivers one announcement may name.
    private static let driversMax = 1_000
    /// Events one report of telemetry may hold.
    private static let telemetryMax = 100
    /// Notifications that can be marked as read at once.
    private static let readMax = 1_000

    func orderAction(_ code: String, _ action: OrderAction.Kind) throws(APIError) -> OrderAction {
        var deed = OrderAction(code: try Self.checkedName(code, field: "code"), action: action)
        var changes = OrderChanges()
        changes.bookingID = try name("bookingId")
        changes.bookingReference = try name("bookingReference")
        changes.customerID = try name("customerId")
        changes.customerName = try text("customerName")
        changes.pickupAddress = try text("pickupAddress")
        changes.dropoffAddress = try text("dropoffAddress")
        changes.scheduledAt = try time("scheduledAt")
        changes.totalGBP = try number("totalGBP")
        deed.changes = changes
        guard action != .update else { return deed }
        (deed.driverID, deed.driverName, deed.reason) = try driverAndReason(isRequired: action == .assign)
        return deed
    }

    func routeAction(_ id: String, _ action: RouteAction.Kind) throws(APIError) -> RouteAction {
        if case .removeDrop(let drop) = action { _ = try Self.checkedName(drop, field: "dropId") }
        var deed = RouteAction(id: try Self.checkedName(id, field: "routeId"), action: action)
        var changes = RouteChanges()
        changes.routeNumber = try text("routeNumber")
        changes.bookingsCount = try count("bookingsCount")
        changes.dropsCount = try count("dropsCount")
        changes.earningsAdjustment = try number("earningsAdjustment")
        deed.changes = changes
        guard action != .update else { return deed }
        (deed.driverID, deed.driverName, deed.reason) = try driverAndReason(isRequired: action == .assign)
        return deed
    }

    /// Whom a deed is about, and why it is done.
    /// - Parameter isRequired: whether it makes no sense without a driver.
    private func driverAndReason(
        isRequired: Bool
    ) throws(APIError) -> (driverID: String?, driverName: String?, reason: String?) {
        let driverID = try name("driverId").value
        let rest = (try text("driverName").value, try text("reason").value)
        if isRequired, driverID == nil { throw APIError(400, "Expected driverId: a string is required") }
        return (driverID, rest.0, rest.1)
    }

    func progressReport() throws(APIError) -> ProgressReport {
        let text = try requiredText("step")
        guard text.isASCII, let step = JobStatus(rawValue: text) else {
            throw APIError(
                400,
                "Expected step to be one of \(JobStatus.allCases.map(\.rawValue).joined(separator: ", ")), found \(text.clipped)")
        }
        var report = ProgressReport(step: step)
        report.notes = try self.text("notes").value
        report.latitude = try degrees("latitude", max: 90)
        report.longitude = try degrees("longitude", max: 180)
        return report
    }

    private func degrees(_ name: String, max: Double) throws(APIError) -> JSONNumber? {
        guard let number = try number(name).value else { return nil }
        guard let degrees = Double(number.text), abs(degrees) <= max else {
            throw APIError(400, "Expected \(name) to be from -\(Int(max)) to \(Int(max))")
        }
        return number
    }

    /// - Parameter isKnown: whether the catalogue has a type.
    func announcement(isKnown: (String) -> Bool) throws(APIError) -> Announcement {
        let type = try requiredText("type")
        guard type.isASCII, isKnown(type) else {
            throw APIError(400, "Unknown type \(type.clipped): it is not in the catalogue of notifications")
        }
        guard let to = try object("to") else {
            throw APIError(400, "Expected to: {driver}, {drivers: […]}, {customer} or {all: true}")
        }
        let data = try object("data").map(Array.init) ?? Array("{}".utf8)
        return Announcement(type: type, audience: try JSONBody(to).audience(), data: data)
    }

    private func audience() throws(APIError) -> Announcement.Audience {
        var audiences: [Announcement.Audience] = []
        if let driver = try name("driver").value { audiences.append(.drivers([driver])) }
        if let drivers = try names("drivers", countMax: Self.driversMax) { audiences.append(.drivers(drivers)) }
        if let customer = try name("customer").value { audiences.append(.customer(customer)) }
        if try flag("all") == true { audiences.append(.everyDriver) }
        guard audiences.count == 1 else {
            throw APIError(400, "Expected to to name one of driver, drivers, customer, all; found \(audiences.count)")
        }
        return audiences[0]
    }

    /// One event, or `{"events":[…]}`: if one is bad, none is taken.
    /// - Parameter isKnown: whether the catalogue has a type.
    func telemetry(isKnown: (String) -> Bool) throws(APIError) -> [TelemetryEvent] {
        guard let elements = try list("events", countMax: Self.telemetryMax) else { return [try telemetryEvent(isKnown)] }
        var events: [TelemetryEvent] = []
        for (index, element) in elements.enumerated() {
            guard element.kind == .object else { throw APIError(400, "Expected events[\(index)] to be an object") }
            do throws(APIError) {
                events.append(try JSONBody(element.raw).telemetryEvent(isKnown))
            } catch {
                throw APIError(error.status, "events[\(index)]: \(error.text)")
            }
        }
        return events
    }

    private static let telemetryTypes = ["new_job", "job_update", "new_route", "route_update"]

    private func telemetryEvent(_ isKnown: (String) -> Bool) throws(APIError) -> TelemetryEvent {
        let id = try Self.checkedName(try requiredText("notificationId"), field: "notificationId")
        let type = try requiredText("type")
        guard type.isASCII, Self.telemetryTypes.contains(type) || isKnown(type) else {
            throw APIError(400, "Expected type to be \(Self.telemetryTypes.joined(separator: ", ")) or a catalogued one")
        }
        let entity = try Self.checkedName(try requiredText("entityId"), field: "entityId")
        let word = try requiredText("event")
        guard word.isASCII, let kind = TelemetryEvent.Kind(rawValue: word) else {
            throw APIError(400, "Expected event to be \(TelemetryEvent.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return TelemetryEvent(
            notificationID: id, type: type, entityID: entity, kind: kind, timestamp: try requiredTime("timestamp"),
            metadata: try metadata())
    }

    /// Only what is known of it is kept: `{title, message}`.
    private func metadata() throws(APIError) -> [UInt8]? {
        guard let object = try object("metadata") else { return nil }
        let body = try JSONBody(object)
        var json = JSONWriter()
        json.raw("{")
        for name in ["title", "message"] {
            guard let text = try body.text(name).value else { continue }
            if json.bytes.count > 1 { json.raw(",") }
            json.string(name)
            json.raw(":")
            json.string(text)
        }
        json.raw("}")
        return json.bytes
    }

    /// `{"ids":[…]}` or `{"all":true}`; nil means all.
    func readMarks() throws(APIError) -> [String]? {
        let ids = try names("ids", countMax: Self.readMax)
        let isAll = try flag("all") == true
        guard isAll != (ids != nil) else { throw APIError(400, "Expected either ids or all: true") }
        return ids
    }
}
