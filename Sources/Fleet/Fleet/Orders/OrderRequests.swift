import Access
import JSON
import Primitives
import PusherAPI

/// Parses the bodies of requests about orders, routes, jobs and notifications.
extension JSONBody {
    /// The maximum number of drivers in one announcement (`POST /api/admin/notifications`).
    private static let driversMax = 1_000
    /// The maximum number of events in one telemetry request.
    private static let telemetryMax = 100
    /// The maximum number of notifications that one request can mark as read.
    private static let readMax = 1_000

    /// The action `assign` on an order. The body must contain the driver.
    func orderAssignment(_ code: String) throws(APIError) -> OrderAction {
        let code = try Self.checkedName(code, field: "code")
        let changes = try orderChanges()
        let (driver, reason) = try requiredDriverAndReason()
        var action = OrderAction(code: code, .assign(driver))
        (action.changes, action.reason) = (changes, reason)
        return action
    }

    /// An action other than `assign` on an order.
    func orderAction(_ code: String, _ kind: OrderAction.Kind) throws(APIError) -> OrderAction {
        var action = OrderAction(code: try Self.checkedName(code, field: "code"), kind)
        action.changes = try orderChanges()
        guard kind != .update else { return action }
        let (driver, reason) = try driverAndReason()
        (action.fallbackDriver, action.reason) = (driver?.id, reason)
        return action
    }

    private func orderChanges() throws(APIError) -> OrderChanges {
        var changes = OrderChanges()
        changes.bookingID = try name("bookingId")
        changes.bookingReference = try name("bookingReference")
        changes.customerID = try name("customerId")
        changes.customerName = try displayText("customerName")
        changes.pickupAddress = try text("pickupAddress")
        changes.dropoffAddress = try text("dropoffAddress")
        changes.scheduledAt = try time("scheduledAt")
        changes.totalGBP = try number("totalGBP")
        changes.pickupCoordinates = try coordinates("pickupLatitude", "pickupLongitude")
        changes.dropoffCoordinates = try coordinates("dropoffLatitude", "dropoffLongitude")
        return changes
    }

    /// Two members that are a place together: both are numbers, both are null, or both are absent.
    private func coordinates(_ latitude: String, _ longitude: String) throws(APIError) -> Change<Coordinates> {
        switch (try degrees(latitude, max: 90), try degrees(longitude, max: 180)) {
        case (.keep, .keep): return .keep
        case (.clear, .clear): return .clear
        case (.set(let north), .set(let east)): return .set(Coordinates(latitude: north, longitude: east))
        case (.set, _): throw missing(longitude, "a number")
        case (_, .set): throw missing(latitude, "a number")
        case (.clear, .keep): throw invalid(longitude, "be null, like \"\(latitude)\"")
        case (.keep, .clear): throw invalid(latitude, "be null, like \"\(longitude)\"")
        }
    }

    /// The action `assign` on a route. The body must contain the driver.
    func routeAssignment(_ id: String) throws(APIError) -> RouteAction {
        let id = try Self.checkedName(id, field: "routeId")
        let changes = try routeChanges()
        let (driver, reason) = try requiredDriverAndReason()
        var action = RouteAction(id: id, .assign(driver))
        (action.changes, action.reason) = (changes, reason)
        return action
    }

    /// An action other than `assign` on a route.
    func routeAction(_ id: String, _ kind: RouteAction.Kind) throws(APIError) -> RouteAction {
        if case .removeDrop(let drop) = kind { _ = try Self.checkedName(drop, field: "dropId") }
        var action = RouteAction(id: try Self.checkedName(id, field: "routeId"), kind)
        action.changes = try routeChanges()
        guard kind != .update else { return action }
        let (driver, reason) = try driverAndReason()
        (action.fallbackDriver, action.reason) = (driver?.id, reason)
        return action
    }

    private func routeChanges() throws(APIError) -> RouteChanges {
        var changes = RouteChanges()
        changes.routeNumber = try text("routeNumber")
        changes.bookingsCount = try count("bookingsCount")
        changes.dropsCount = try count("dropsCount")
        changes.earningsAdjustment = try number("earningsAdjustment")
        return changes
    }

    private func requiredDriverAndReason() throws(APIError) -> (Assignment.Driver, reason: String?) {
        let (driver, reason) = try driverAndReason()
        guard let driver else { throw missing("driverId", "a string") }
        return (driver, reason)
    }

    private func driverAndReason() throws(APIError) -> (Assignment.Driver?, reason: String?) {
        let id = try id("driverId").value
        let (name, reason) = (try displayText("driverName").value, try text("reason").value)
        return (id.map { Assignment.Driver(id: Identifier($0), name: name) }, reason)
    }

    func progressReport() throws(APIError) -> ProgressReport {
        var report = ProgressReport(step: try step())
        if try flag("undo") == true { (report.isUndo, report.reason) = (true, try correctionReasonText()) }
        report.notes = try self.text("notes").value
        report.latitude = try degrees("latitude", max: 90).value
        report.longitude = try degrees("longitude", max: 180).value
        return report
    }

    /// A step's name, in snake case or, as the enumerations of some apps have it, in camel case.
    private func step() throws(APIError) -> JobStatus {
        let text = try requiredText("step")
        let step = JobStatus.allCases.first {
            text.utf8.elementsEqual($0.rawValue.utf8) || text.utf8.elementsEqual($0.camelCase.utf8)
        }
        guard let step else {
            let steps = JobStatus.allCases.map(\.rawValue).joined(separator: ", ")
            throw invalid("step", "be one of \(steps); found \(text.clipped)")
        }
        return step
    }

    /// The most characters of the reason why an arrival is taken back.
    private static let correctionReasonMax = 200

    /// The reason in an admin's correction: `{"step":"en_route","reason"?}`.
    func correctionReason() throws(APIError) -> String? {
        try checkMembers(["step", "reason", "idempotencyKey"])
        let step = try step()
        guard step == .enRoute else { throw invalid("step", "be en_route; found \(step.rawValue)") }
        return try correctionReasonText()
    }

    private func correctionReasonText() throws(APIError) -> String? {
        guard let reason = try text("reason").value else { return nil }
        guard reason.unicodeScalars.count <= Self.correctionReasonMax else {
            throw invalid("reason", "have at most \(Self.correctionReasonMax) characters")
        }
        return reason
    }

    /// A number of degrees from `-max` to `max`.
    func degrees(_ name: String, max: Double) throws(APIError) -> Change<JSONNumber> {
        let change = try number(name)
        guard let number = change.value else { return change }
        guard let degrees = Double(number.text), abs(degrees) <= max else {
            throw invalid(name, "be from -\(Int(max)) to \(Int(max))")
        }
        return change
    }

    /// An announcement: `{type, to: {driver} | {drivers: […]} | {customer} | {all: true}, data?}`.
    /// - Parameter isKnown: returns whether the catalogue contains a notification type.
    func announcement(isKnown: (String) -> Bool) throws(APIError) -> Announcement {
        let type = try requiredText("type")
        guard type.isASCII, isKnown(type) else {
            throw APIError(400, "Unknown \"type\" \(type.clipped): not in the notification catalogue")
        }
        guard let to = try object("to") else {
            throw missing("to", "{driver}, {drivers: […]}, {customer} or {all: true}")
        }
        let data = try object("data")
        if let number = data.flatMap(JSONNumber.firstInfinite) {
            throw invalid("data", "contain only numbers that fit into a double; found \(number.text.clipped)")
        }
        return Announcement(type: type, audience: try JSONBody(to).audience(), data: data.map(Array.init) ?? Array("{}".utf8))
    }

    private func audience() throws(APIError) -> Announcement.Audience {
        var audiences: [Announcement.Audience] = []
        if let driver = try id("driver").value { audiences.append(.drivers([driver])) }
        if let drivers = try ids("drivers", countMax: Self.driversMax) { audiences.append(.drivers(drivers)) }
        if let customer = try id("customer").value { audiences.append(.customer(customer)) }
        if try flag("all") == true { audiences.append(.everyDriver) }
        guard audiences.count == 1 else {
            throw invalid("to", "contain exactly one of driver, drivers, customer, all; found \(audiences.count)")
        }
        return audiences[0]
    }

    /// One event, or `{"events":[…]}`. If one event is invalid, the whole request is rejected.
    /// - Parameter isKnown: returns whether the catalogue contains a notification type.
    func telemetry(isKnown: (String) -> Bool) throws(APIError) -> [TelemetryEvent] {
        guard let elements = try list("events", countMax: Self.telemetryMax) else { return [try telemetryEvent(isKnown)] }
        var events: [TelemetryEvent] = []
        for (index, element) in elements.enumerated() {
            guard element.kind == .object else { throw .invalid("events[\(index)]", "be an object") }
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
        let id = try Self.checkedReportedID(try requiredText("notificationId"), field: "notificationId")
        let type = try requiredText("type")
        guard type.isASCII, Self.telemetryTypes.contains(type) || isKnown(type) else {
            let types = Self.telemetryTypes.joined(separator: ", ")
            throw invalid("type", "be one of \(types), or a type of the notification catalogue")
        }
        let entity = try entityID(ofType: type)
        let name = try requiredText("event")
        guard name.isASCII, let kind = TelemetryEvent.Kind(rawValue: name) else {
            let kinds = TelemetryEvent.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw invalid("event", "be one of \(kinds)")
        }
        let time = try requiredTime("timestamp")
        return TelemetryEvent(
            notificationID: id, type: type, entityID: entity, kind: kind,
            timestamp: Timestamp.moment(iso8601: time)?.hasOffset == true ? time : nil, metadata: try metadata())
    }

    /// An id that a phone knows: of a notification, of a push, of a message. 1 to 256 printable ASCII characters.
    /// - Returns: `text`.
    static func checkedReportedID(_ text: String, field: String) throws(APIError) -> String {
        guard (1...256).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .invalid(field, "be 1 to 256 printable ASCII characters without spaces")
        }
        return text
    }

    /// The job or route that a notification is about. Types about none may leave it out, or empty.
    private func entityID(ofType type: String) throws(APIError) -> String? {
        let text = try text("entityId").value
        if Self.telemetryTypes.contains(type), text == nil { throw missing("entityId", "a string") }
        guard let text, !(text.isEmpty && !Self.telemetryTypes.contains(type)) else { return nil }
        let characters = text.unicodeScalars
        guard (1...Identity.idLengthMax).contains(characters.count),
            characters.allSatisfy({ $0.properties.generalCategory != .control })
        else { throw invalid("entityId", "have 1 to \(Identity.idLengthMax) characters, none of them a control character") }
        return text
    }

    /// The member `metadata`, `{title?, message?}`, as JSON without its other members. Nil if absent or null.
    private func metadata() throws(APIError) -> [UInt8]? {
        guard let object = try object("metadata") else { return nil }
        let body = try JSONBody(object)
        let (title, message) = (try body.text("title").value, try body.text("message").value)
        var json = JSONWriter()
        json.object {
            $0.member("title", ifPresent: title)
            $0.member("message", ifPresent: message)
        }
        return json.bytes
    }

    /// `{"ids":[…]}` or `{"all":true}`.
    /// - Returns: the ids of the notifications to mark as read; nil for all notifications.
    func readMarks() throws(APIError) -> [String]? {
        let ids = try names("ids", countMax: Self.readMax)
        let isAll = try flag("all") == true
        guard isAll != (ids != nil) else { throw APIError(400, "Expected either \"ids\" or \"all\": true") }
        return ids
    }
}
