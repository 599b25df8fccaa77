import Access
import FleetRules
import HTTP
import JSON
import JWT
import Primitives

@testable import HTTPAPI

/// Any bytes as bodies of the fleet's API, as forms, and as JSON to be summed up: nothing crashes, what is taken keeps the
/// rules, and what is canonical stays as it is.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFleet(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    checkCanonical(bytes)
    checkForm(bytes)
    checkBodies(bytes)
    checkRequests(bytes)
    return 0
}

// MARK: Values

private func canonical(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    do {
        return try CanonicalJSON.bytes(of: bytes)
    } catch let error as JSONError {
        promise((0...bytes.count).contains(error.offset), "an error is at a place in the text")
        return nil
    } catch {
        fatalError("\(error)")
    }
}

private func checkCanonical(_ bytes: UnsafeRawBufferPointer) {
    guard let once = canonical(bytes) else { return }
    once.withUnsafeBytes { once in
        promise(String(validating: once, as: UTF8.self) != nil, "what is canonical is UTF-8")
        promise(canonical(once).map { $0.elementsEqual(once) } ?? false, "what is canonical stays as it is")
    }
    // However it is spaced, it is the same value.
    let spaced = [0x20, 0x0A] + Array(bytes) + [0x09, 0x0D]
    promise(spaced.withUnsafeBytes(canonical) == once, "space does not matter")
}

private func checkForm(_ bytes: UnsafeRawBufferPointer) {
    do throws(APIError) {
        let fields = try FormFields(bytes)
        promise((fields["socket_id"]?.utf8.count ?? 0) <= 3 * bytes.count, "a field is a part of its form")
    } catch {
        promise(error.status == 400, "a bad form is a bad request")
        checkWords(error)
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
        promise(report.latitude.flatMap { Double($0.text) }.map { abs($0) <= 90 } ?? true, "a latitude is on the earth")
        promise(report.longitude.flatMap { Double($0.text) }.map { abs($0) <= 180 } ?? true, "a longitude is on the earth")
    }
    if let announcement = read({ () throws(APIError) in try body.announcement { $0 == "T" } }) { check(announcement) }
    if let events = read({ () throws(APIError) in try body.telemetry { $0 == "T" } }) { check(events) }
    if let marks = read({ () throws(APIError) in try body.readMarks() }) { for mark in marks ?? [] { checkName(mark) } }
    if let changes = read({ () throws(APIError) in try body.preferenceChanges { checkZone($0) } }) { check(changes) }
    for method in [HTTPRequest.Method.post, .delete] {
        let request = HTTPRequest(method: method, path: "/")
        let devices = [
            read({ () throws(APIError) in try body.fcmDevice(request) }),
            read({ () throws(APIError) in try body.appDevice(request) }),
        ]
        for device in devices { if let device { check(device, method) } }
    }
}

private func checkOrderAction(_ action: OrderAction?) {
    guard let action else { return }
    let changes = action.changes
    for name in [changes.bookingID.value, changes.bookingReference.value, changes.customerID.value] { checkName(name) }
    checkName(action.fallbackDriver?.text)
    if case .assign(let driver) = action.kind { checkName(driver.id.text) }
    promise(changes.scheduledAt.value.map(Timestamp.isISO8601) ?? true, "a time is one")
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

/// Every second one is a time zone.
private func checkZone(_ name: String) -> Bool {
    promise((1...64).contains(name.utf8.count), "whoever looks a time zone up gets a short name")
    promise(name.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 > 0x20 && $0 < 0x7F }, "and one that leads out of no folder")
    return name.utf8.count.isMultiple(of: 2)
}

private func check(_ changes: PreferenceChanges) {
    promise(changes.types.count <= PreferenceChanges.typesMax, "types are few")
    promise(changes.types.keys.allSatisfy { (1...64).contains($0.utf8.count) && Identity.isReference($0) }, "types have names")
    for minutes in [changes.from, changes.to] { promise(minutes.map((0..<1_440).contains) ?? true, "a time is of the day") }
    var preferences = Preferences()
    do throws(RuleError) { try changes.apply(to: &preferences) } catch { fatalError("what was read can be applied: \(error)") }
    var json = JSONWriter()
    preferences.write(to: &json)
    promise(isJSON(json.bytes), "preferences can be shown")
}

private func check(_ device: DeviceRegistration, _ method: HTTPRequest.Method) {
    promise((device.kind == .register) == (method == .post), "a phone comes by POST and goes by DELETE")
    let token = device.token
    promise(
        (1...4_096).contains(token.text.utf8.count) && token.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a token is one")
    promise((token.environment != nil) == (token.provider == .apns), "APNs alone has environments")
    promise(device.deviceID.map { (1...150).contains($0.unicodeScalars.count) } ?? true, "what a phone is called is short")
}

private func check(_ announcement: Announcement) {
    promise(announcement.type == "T", "what is announced is in the catalogue")
    promise(announcement.data.first == UInt8(ascii: "{") && isJSON(announcement.data), "data is an object")
    switch announcement.audience {
    case .drivers(let ids):
        promise((1...1_000).contains(ids.count), "somebody hears of it")
        for id in ids { checkName(id) }
    case .customer(let id): checkName(id)
    case .everyDriver: break
    }
}

private func check(_ events: [TelemetryEvent]) {
    promise((1...100).contains(events.count), "a report has 1 to 100 events")
    for event in events {
        checkName(event.notificationID)
        checkName(event.entityID)
        promise(Timestamp.isISO8601(event.timestamp), "an event has a time")
        promise(event.metadata.map(isJSON) ?? true, "metadata is JSON")
    }
}

private func read<Value>(_ reading: () throws(APIError) -> Value) -> Value? {
    do throws(APIError) {
        return try reading()
    } catch {
        promise(error.status == 400, "a bad body is a bad request")
        checkWords(error)
        return nil
    }
}

private func checkWords(_ error: APIError) {
    promise(!error.text.isEmpty && error.text.utf8.count < 1_000, "a refusal is a few words")
}

private func checkName(_ name: String?) {
    promise(name.map(Identity.isReference) ?? true, "a name can stand in a channel's")
}

private func checkNumber(_ number: Change<JSONNumber>) {
    promise(number.value.map { isJSON(Array($0.text.utf8)) } ?? true, "a number goes out as JSON")
}

private func isJSON(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { (try? JSONReader.value($0)) != nil } }

// MARK: Whole requests

private let secret = "known to nobody but this fuzzer !"
private let now: Int64 = 1_800_000_000
private let roles: [Role] = [.admin, .driver, .customer, .ops]

private let authorizations = roles.map { role in
    "Bearer " + TokenMint.token(for: Identity(role: role, id: "1"), secret: secret, issuedAt: now, lifetimeSeconds: 3_600)
}

nonisolated(unsafe) private let router: Router = {
    let issuers = [TokenIssuer(algorithm: .hs256, keys: .secret(secret))]
    do {
        let verifier = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        let app = Application(
            index: 0, id: "1", key: "k", secrets: [secret], encryptionMasterKey: [UInt8](repeating: 7, count: 32))
        let authenticator = Authenticator(verifier: verifier, cookies: ["session"], origins: app.origins)
        let fleet = FleetRouter(
            app: app, authenticator: authenticator, metricsToken: "t", isCatalogued: { $0 == "T" }, isTimeZone: checkZone)
        return Router(apps: [app], metricsToken: "t", fleet: fleet)
    } catch {
        fatalError("\(error)")
    }
}()

private let methods: [HTTPRequest.Method] = [.post, .put, .get, .head, .patch, .delete, .options]

/// The first byte picks who asks how, the first line is the path, the second a header field, and the rest the body.
private func checkRequests(_ bytes: UnsafeRawBufferPointer) {
    guard let choice = bytes.first else { return }
    let lines = bytes.dropFirst().split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count == 3 else { return }
    let value = String(decoding: lines[1], as: UTF8.self)
    let authorization = choice & 0x80 == 0 ? authorizations[Int(choice) % roles.count] : nil
    let request = HTTPRequest(
        method: methods[Int(choice >> 2) % methods.count], path: "/" + String(decoding: lines[0], as: UTF8.self),
        query: ["limit", "before", "fcmToken", "deviceToken"].map { ($0, value) },
        field: { $0 == .authorization ? authorization : value }, correlationID: "c1", isLoopback: true,
        body: UnsafeRawBufferPointer(rebasing: lines[2]))
    guard case .command(let command) = router.action(of: request, now: now) else { return }
    promise(authorization != nil, "nobody does anything unless he says who he is")
    promise(mayDo(command), "everybody does what is his to do")
    if case .device(let device) = command.action, device.kind == .unregister {
        promise(command.idempotencyKey == nil, "what has gone cannot go twice")
    } else {
        promise(command.idempotencyKey.map { $0.digest.count == 32 && $0.text == value } ?? false, "a repeated request is known")
    }
}

private func mayDo(_ command: Command) -> Bool {
    switch (command.action, command.actor.role) {
    case (.device, .driver), (.device, .customer), (.updatePreferences, .driver), (.updatePreferences, .customer): true
    case (.order, .admin), (.route, .admin), (.announce, .admin), (.erase(.driver, _), .admin), (.erase(.customer, _), .admin):
        true
    case (.acceptJob, .driver), (.acceptRoute, .driver), (.progress, .driver), (.telemetry, .driver), (.markRead, .driver): true
    default: false
    }
}
