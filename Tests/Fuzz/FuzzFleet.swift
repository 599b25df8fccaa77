import Access
import HTTP
import JSON
import JWT
import Primitives

@testable import Fleet
@testable import PusherAPI

/// Handles any bytes as a request to the fleet's API, as a form, as a signed query, and as JSON to canonicalize. Invariants: nothing
/// crashes, accepted values follow the rules, and canonical JSON does not change if it is canonicalized again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFleet(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    checkCanonical(bytes)
    checkForm(bytes)
    checkBodies(bytes)
    checkRequests(bytes)
    checkQuery(bytes)
    return 0
}

// MARK: Values

private func canonical(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    do {
        return try CanonicalJSON.bytes(of: bytes)
    } catch let error as JSONError {
        invariant((0...bytes.count).contains(error.offset), "an error's offset is within the input")
        return nil
    } catch {
        fatalError("\(error)")
    }
}

private func checkCanonical(_ bytes: UnsafeRawBufferPointer) {
    guard let once = canonical(bytes) else { return }
    once.withUnsafeBytes { once in
        invariant(String(validating: once, as: UTF8.self) != nil, "canonical JSON is UTF-8")
        invariant(canonical(once).map { $0.elementsEqual(once) } ?? false, "canonical JSON is a fixed point")
    }
    // White space around a value does not change its canonical form.
    let spaced = [0x20, 0x0A] + Array(bytes) + [0x09, 0x0D]
    invariant(spaced.withUnsafeBytes(canonical) == once, "white space does not matter")
}

private func checkForm(_ bytes: UnsafeRawBufferPointer) {
    do throws(APIError) {
        let fields = try FormFields(bytes, names: ["socket_id"])
        invariant((fields["socket_id"]?.utf8.count ?? 0) <= 3 * bytes.count, "a field is not longer than its form")
    } catch {
        invariant(error.status == 400, "an invalid form gets 400")
        checkText(error)
    }
}

/// A query that is read in place has the parts that converting it gives.
private func checkQuery(_ bytes: UnsafeRawBufferPointer) {
    guard let query = SignedQuery(raw: bytes) else { return }
    let (decoded, converted) = SignedQuery.decoding(bytes)
    decoded.withUnsafeBytes { decoded in
        let signed = Array(bytes[query.signedBefore]) + Array(bytes[query.signedAfter])
        invariant(signed.elementsEqual(decoded[converted.signedBefore]), "the same bytes are signed")
        for part in [\SignedQuery.key, \.signature, \.timestamp, \.version, \.bodyMD5] {
            let same = query[keyPath: part].map { Array(bytes[$0]) } == converted[keyPath: part].map { Array(decoded[$0]) }
            invariant(same, "the same parameters are found")
        }
    }
}

// MARK: Bodies

private let orderActions: [OrderAction.Kind] = [.unassign, .cancel, .removeDriver, .update]
private let routeActions: [RouteAction.Kind] = [.unassign, .cancel, .removeDrop("D1"), .update]

private func checkBodies(_ bytes: UnsafeRawBufferPointer) {
    guard let body = read({ () throws(APIError) in try JSONBody(bytes) }) else { return }
    checkOrderAction(read { () throws(APIError) in try body.orderAssignment("A1") })
    for kind in orderActions { checkOrderAction(read { () throws(APIError) in try body.orderAction("A1", kind) }) }
    checkRouteAction(read { () throws(APIError) in try body.routeAssignment("R1") })
    for kind in routeActions { checkRouteAction(read { () throws(APIError) in try body.routeAction("R1", kind) }) }
    if let report = read({ () throws(APIError) in try body.progressReport() }) {
        invariant(report.latitude.flatMap { Double($0.text) }.map { abs($0) <= 90 } ?? true, "a latitude is from -90 to 90")
        invariant(report.longitude.flatMap { Double($0.text) }.map { abs($0) <= 180 } ?? true, "a longitude is from -180 to 180")
    }
    if let report = read({ () throws(APIError) in try body.positions() }) { check(report.positions) }
    if let announcement = read({ () throws(APIError) in try body.announcement { $0 == "T" } }) { check(announcement) }
    if let events = read({ () throws(APIError) in try body.telemetry { $0 == "T" } }) { check(events) }
    checkBatches(body)
    if let marks = read({ () throws(APIError) in try body.readMarks() }) { for mark in marks ?? [] { checkName(mark) } }
    if let changes = read({ () throws(APIError) in try body.preferenceChanges(isTimeZone: checkZone) { $0 == "T" } }) {
        check(changes)
    }
    for method in [HTTPRequest.Method.post, .delete] {
        var head = RequestHead()
        head.method = method
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let request = HTTPRequest(head: head, bytes: none, body: none, correlationID: "", isLoopback: false)
        let devices = [
            read({ () throws(APIError) in try body.fcmDevice(request) }),
            read({ () throws(APIError) in try body.appDevice(request) }),
        ]
        for device in devices { if let device { check(device, method) } }
    }
}

/// The bodies of requests about batches: what is accepted is within the limits, and can be applied to a batch.
private func checkBatches(_ body: JSONBody) {
    if let edits = read({ () throws(APIError) in try body.batchEdits() }) {
        invariant((edits.orders?.count ?? 0) <= BatchEdits.ordersMax, "a batch has at most 200 orders")
        for order in edits.orders ?? [] {
            checkName(order.customerID)
            checkDegrees(order.address.latitude, 90)
            checkDegrees(order.address.longitude, 180)
            invariant(order.items.count <= 100, "an order has at most 100 items")
            invariant((1...100).contains(order.orderNumber.unicodeScalars.count), "an order's number is short")
        }
        var random = SystemRandomNumberGenerator()
        let batch = Batch(id: .random(using: &random), createdAt: 0)
        if let decision = try? batch.apply(.edit(edits), at: 1, using: &random) {
            invariant(Set(decision.batch.orders.map(\.sequenceNumber)).count == decision.batch.orders.count, "unique places")
            let answer = FleetResponses.body(of: .batch(.one(decision.batch)))
            invariant(isJSON(answer), "a batch is written as JSON")
        }
    }
    if let report = read({ () throws(APIError) in try body.deliveryReport() }) {
        invariant(report.otp.map(\.isDeliveryOTP) ?? true, "a code has four digits")
        invariant((report.notes?.unicodeScalars.count ?? 0) <= DriverNotes.lengthMax, "notes are short")
    }
    if let entries = read({ () throws(APIError) in try body.sequenceEntries() }) {
        invariant(entries.count <= BatchEdits.ordersMax, "a tour has at most 200 orders")
    }
    _ = read { () throws(APIError) in try body.driverNotes() }
    _ = read { () throws(APIError) in try body.isOnline() }
}

private func checkDegrees(_ number: JSONNumber?, _ limit: Double) {
    invariant(number.flatMap { Double($0.text) }.map { abs($0) <= limit } ?? true, "degrees are within their limits")
}

private func checkOrderAction(_ action: OrderAction?) {
    guard let action else { return }
    let changes = action.changes
    for name in [changes.bookingID.value, changes.bookingReference.value, changes.customerID.value] { checkName(name) }
    checkName(action.fallbackDriver?.text)
    if case .assign(let driver) = action.kind { checkName(driver.id.text) }
    invariant(changes.scheduledAt.value.map(Timestamp.isISO8601) ?? true, "scheduledAt is an ISO 8601 time")
    checkNumber(changes.totalGBP)
}

private func checkRouteAction(_ action: RouteAction?) {
    guard let action else { return }
    checkName(action.fallbackDriver?.text)
    if case .assign(let driver) = action.kind { checkName(driver.id.text) }
    for number in [action.changes.bookingsCount, action.changes.dropsCount, action.changes.earningsAdjustment] {
        checkNumber(number)
    }
}

/// Replaces the time zone database: accepts names of even length, so that both results occur.
private func checkZone(_ name: String) -> Bool {
    invariant((1...64).contains(name.utf8.count), "a time zone that is looked up has a name of 1 to 64 bytes")
    invariant(
        name.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 > 0x20 && $0 < 0x7F },
        "a time zone's name cannot be a path out of the database")
    return name.utf8.count.isMultiple(of: 2)
}

private func check(_ changes: PreferenceChanges) {
    invariant(changes.types.count <= PreferenceChanges.typesMax, "the number of types is limited")
    invariant(
        changes.types.keys.allSatisfy { (1...64).contains($0.utf8.count) && Identity.isReference($0) }, "types have valid names")
    for minutes in [changes.from, changes.to] {
        invariant(minutes.map((0..<1_440).contains) ?? true, "a time of day is below 24:00")
    }
    var preferences = Preferences()
    do throws(RuleError) { try changes.apply(to: &preferences) } catch {
        fatalError("changes that were read cannot be applied: \(error)")
    }
    var json = JSONWriter()
    preferences.write(to: &json)
    invariant(isJSON(json.bytes), "preferences are written as JSON")
}

private func check(_ device: DeviceRegistration, _ method: HTTPRequest.Method) {
    invariant((device.kind == .register) == (method == .post), "POST registers a device, DELETE removes it")
    let token = device.token
    invariant(
        (1...4_096).contains(token.text.utf8.count) && token.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F },
        "a device token is printable ASCII of 1 to 4,096 bytes")
    invariant(token.environment == nil || token.provider == .apns, "only APNs tokens have an environment")
    invariant(device.deviceID.map { (1...150).contains($0.unicodeScalars.count) } ?? true, "a device id has 1 to 150 characters")
}

private func check(_ positions: [Position]) {
    invariant((1...100).contains(positions.count), "a request has 1 to 100 positions")
    for position in positions {
        invariant((-90...90).contains(position.latitude), "a latitude is from -90 to 90")
        invariant((-180...180).contains(position.longitude), "a longitude is from -180 to 180")
        invariant(position.heading.map { (0..<360).contains($0) } ?? true, "a heading is below 360 degrees")
        invariant(position.accuracy.map { $0 <= Position.badAccuracy } ?? true, "an accuracy is at most a bad one")
        invariant(position.speed.map { (0...150).contains($0) } ?? true, "a speed is from 0 to 150 m/s")
        for number in [position.latitude, position.longitude, position.heading ?? 0] {
            invariant(isJSON(Array("\(number)".utf8)), "a position is shown as JSON")
        }
    }
}

private func check(_ announcement: Announcement) {
    invariant(announcement.type == "T", "an announcement's type is in the catalogue")
    invariant(announcement.data.first == UInt8(ascii: "{") && isJSON(announcement.data), "data is an object")
    switch announcement.audience {
    case .drivers(let ids):
        invariant((1...1_000).contains(ids.count), "an announcement has 1 to 1,000 drivers")
        for id in ids { checkName(id) }
    case .customer(let id): checkName(id)
    case .everyDriver: break
    }
}

private func check(_ events: [TelemetryEvent]) {
    invariant((1...100).contains(events.count), "a report has 1 to 100 events")
    for event in events {
        let id = event.notificationID.utf8
        invariant((1...256).contains(id.count) && id.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a reported id is printable ASCII")
        invariant(event.entityID.map { (1...150).contains($0.unicodeScalars.count) } ?? true, "an entity's id is short")
        invariant(event.timestamp.map(Timestamp.isISO8601) ?? true, "an event has a time, or none with an offset")
        invariant(event.metadata.map(isJSON) ?? true, "metadata is JSON")
    }
}

private func read<Value>(_ reading: () throws(APIError) -> Value) -> Value? {
    do throws(APIError) {
        return try reading()
    } catch {
        invariant(error.status == 400, "an invalid body gets 400")
        checkText(error)
        return nil
    }
}

private func checkText(_ error: APIError) {
    invariant(!error.text.isEmpty && error.text.utf8.count < 1_000, "an error has a short text")
}

private func checkName(_ name: String?) {
    invariant(name.map(Identity.isReference) ?? true, "an id may occur in a channel's name")
}

private func checkNumber(_ number: Change<JSONNumber>) {
    invariant(number.value.map { isJSON(Array($0.text.utf8)) } ?? true, "a number is written as JSON")
}

private func isJSON(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { (try? JSONReader.value($0)) != nil } }

// MARK: Whole requests

private let secret = "a-secret-for-fuzzers-of-32-bytes"
private let now: Int64 = 1_800_000_000
private let roles: [Role] = [.admin, .driver, .customer, .ops]

private let authorizations = roles.map { role in
    "Bearer "
        + TokenMint.token(
            for: Identity(role: role, id: "1"), secret: secret, id: String(repeating: "a", count: 32), issuedAt: now,
            lifetimeSeconds: 3_600)
}

nonisolated(unsafe) private let router: Router = {
    var issuers = [TokenIssuer(algorithm: .hs256, keys: .secret(secret))]
    issuers[0].signsCustomersIn = true
    do {
        let verifier = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        let app = Application(
            index: 0, id: "1", key: "k", secrets: [secret], encryptionMasterKey: [UInt8](repeating: 7, count: 32))
        let authenticator = Authenticator(verifier: verifier, cookies: ["session"], origins: app.origins)
        let fleet = FleetRouter(
            app: app, authenticator: authenticator, metricsToken: "t", isCatalogued: { $0 == "T" }, isTimeZone: checkZone,
            accounts: AccountCheck(countryCode: "+91") { _ in nil }, codeCountries: ["+1", "+44"])
        return Router(apps: [app], metricsToken: "t", patterns: fleet.patterns, extension: fleet)
    } catch {
        fatalError("\(error)")
    }
}()

private let methods: [HTTPRequest.Method] = [.post, .put, .get, .head, .patch, .delete, .options]

/// Handles the bytes as a whole request. The first byte selects the role and the method. The rest of the first line is
/// the path, the second line the value of all header fields and query parameters, and all further bytes the body.
private func checkRequests(_ bytes: UnsafeRawBufferPointer) {
    guard let choice = bytes.first else { return }
    let lines = bytes.dropFirst().split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count == 3 else { return }
    let value = String(decoding: lines[1], as: UTF8.self)
    let authorization = choice & 0x80 == 0 ? authorizations[Int(choice) % roles.count] : nil
    let parts = HeadParts(
        method: methods[Int(choice >> 2) % methods.count], path: lines[0], value: lines[1], authorization: authorization)
    let routing = parts.withRequest { router.route(head: $0, now: now).routing }
    guard case .route(let route) = routing else { return }
    invariant(route.bodyBytesMax >= 0 && route.bodyBytesMax <= 16_777_216, "a body's size is limited")
    // The head's bytes are gone: the route must contain what it needs of them.
    guard case .perform(let performed) = route.action(UnsafeRawBufferPointer(rebasing: lines[2])),
        let action = performed as? FleetAction
    else { return }
    if case .locate(let report, let identity) = action {
        invariant(authorization != nil && identity.role == .driver, "only drivers send positions")
        check(report.positions)
        invariant(report.withoutOffset <= report.positions.count, "a position has one time")
    }
    guard case .command(let command) = action else { return }
    if isOfSignIn(command.command) { return check(command, lines[2], isAuthorized: authorization != nil) }
    invariant(authorization != nil, "a command requires an authorization")
    invariant(isPermitted(command), "a command is permitted for the role")
    if command.command is DeviceRegistration {
        invariant(command.idempotencyKey == nil, "registering and removing a device take no idempotency key")
    } else {
        invariant(
            command.idempotencyKey.map { $0.digest.count == 32 && $0.text == value } ?? false,
            "a command has the idempotency key and a digest")
    }
}

/// Checks a request of sign-in by code: who may make it, and what its fields are.
private func check(_ issued: IssuedCommand, _ body: Slice<UnsafeRawBufferPointer>, isAuthorized: Bool) {
    let command = issued.command
    let hasActor = command.origin == .actor
    invariant(issued.idempotencyKey == nil, "a request of sign-in by code takes no idempotency key")
    invariant(!hasActor || isAuthorized && issued.sender.role == .customer, "only a customer has an account")
    invariant(hasActor || issued.sender == .anonymous, "a request of sign-in without a token is of an anonymous sender")
    invariant(command.subject.utf8.count <= 20, "the log has no secret")
    switch command {
    case let command as SendSignInCode:
        let number = command.number
        invariant((6...16).contains(number.text.utf8.count) && number.text.utf8.first == UInt8(ascii: "+"), "a phone number")
        invariant(number.text.utf8.dropFirst().allSatisfy { 0x30...0x39 ~= $0 }, "a phone number consists of digits")
        invariant(["+1", "+44"].contains(number.callingCode), "the country may sign in")
        invariant(!command.subject.contains(number.text), "the log has no whole number")
    case let command as ResendSignInCode: invariant((1...64).contains(command.sessionID.utf8.count), "a session's id is short")
    case let command as VerifySignInCode:
        invariant((1...64).contains(command.sessionID.utf8.count), "a session's id is short")
        invariant(
            command.code.utf8.count == 6 && command.code.utf8.allSatisfy { 0x30...0x39 ~= $0 }, "a code has six digits")
    case let command as SaveBasicDetails:
        invariant((2...100).contains(command.details.name.unicodeScalars.count), "a name has 2 to 100 characters")
        invariant(
            command.details.emailKey.utf8.allSatisfy { !(0x41...0x5A ~= $0) }, "an address is compared in lower case")
    case let command as SavePaymentMethod:
        invariant((1...255).contains(command.payment.token.unicodeScalars.count), "a token has 1 to 255 characters")
        invariant(!CardNumbers.occur(in: UnsafeRawBufferPointer(rebasing: body)), "no card number passes")
    case is RecordSignInSMS: invariant(false, "only the gateway itself reports what became of an SMS")
    default: break
    }
}

private func isOfSignIn(_ command: any Command) -> Bool {
    switch command {
    case is SendSignInCode, is ResendSignInCode, is VerifySignInCode, is RecordSignInSMS, is RefreshToken, is EndSession,
        is SaveBasicDetails, is SavePaymentMethod:
        true
    default: false
    }
}

/// The head of a request, which need not be one that the parser accepts.
private struct HeadParts {
    private var bytes = [UInt8(ascii: "\n")]  // No value of a header field is at offset 0.
    private var head = RequestHead()

    init(
        method: HTTPRequest.Method, path: Slice<UnsafeRawBufferPointer>, value: Slice<UnsafeRawBufferPointer>,
        authorization: String?
    ) {
        head.method = method
        head.path = append(Array("/".utf8) + path)
        head.query = append(["limit", "before", "fcmToken", "deviceToken"].flatMap { Array("&\($0)=".utf8) + value })
        for field in HTTPRequest.Field.allCases where field != .authorization { _ = head.add(append(Array(value)), for: field) }
        if let authorization { _ = head.add(append(Array(authorization.utf8)), for: .authorization) }
        head.byteCount = bytes.count
    }

    private mutating func append(_ part: [UInt8]) -> ByteRange {
        bytes += part
        return ByteRange(bytes.count - part.count..<bytes.count)
    }

    func withRequest<Value>(_ use: (HTTPRequest) -> Value) -> Value {
        bytes.withUnsafeBytes { bytes in
            use(
                HTTPRequest(
                    head: head, bytes: bytes, body: UnsafeRawBufferPointer(start: nil, count: 0), correlationID: "c1",
                    isLoopback: true))
        }
    }
}

private func isPermitted(_ issued: IssuedCommand) -> Bool {
    switch (issued.command, issued.actor.role) {
    case (is DeviceRegistration, .driver), (is DeviceRegistration, .customer), (is UpdatePreferences, .driver),
        (is UpdatePreferences, .customer):
        true
    case (is OrderAction, .admin), (is CorrectArrival, .admin), (is RouteAction, .admin), (is Announce, .admin): true
    case (let command as Erase, .admin): [.driver, .customer].contains(command.person.role)
    case (is Remind, .admin), (is ChangeDriverCard, .admin), (is DecideAccount, .admin), (is SwitchAvailability, .driver): true
    case (let command as any BatchCommand, .driver):
        ["accept", "pickup", "status", "sequence", "complete"].contains(command.name)
    case (let command as any BatchCommand, .admin):
        ["update", "ready", "reassign", "unassign", "cancel", "cancel_order", "return_order"].contains(command.name)
    case (is AcceptJob, .driver), (is AcceptRoute, .driver), (is ReportProgress, .driver), (is RecordTelemetry, .driver),
        (is MarkRead, .driver):
        true
    default: false
    }
}
