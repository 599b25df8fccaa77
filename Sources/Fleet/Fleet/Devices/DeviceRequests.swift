import HTTP
import JSON
import PusherAPI

/// Parses the bodies of device registrations and preferences.
extension JSONBody {
    /// The maximum length of a device id, in characters.
    private static let deviceIDLengthMax = 150
    /// The maximum length of the name of a notification type or time zone, in bytes.
    private static let nameLengthMax = 64

    // MARK: Devices

    /// `{fcmToken, deviceId?}`. To unregister, only the token is read.
    func fcmDevice(_ request: HTTPRequest) throws(APIError) -> DeviceRegistration {
        let isUnregistration = request.method == .delete
        var errors = FieldErrors()
        let token = try errors.collect { () throws(APIError) in
            let text = try tokenText("fcmToken", request)
            return try Self.checked("fcmToken") { () throws(RuleError) in try .fcm(text) }
        }
        let id = try errors.collect { () throws(APIError) in try isUnregistration ? nil : deviceID() }
        guard let token, let id else { throw errors.error }
        return DeviceRegistration(isUnregistration ? .unregister : .register, token, deviceID: id, form: .fcmToken)
    }

    /// `{deviceToken, platform, environment?, deviceId?}`. Without `environment`, the lanes find the APNs environment by
    /// trying. To unregister, the token is enough: if it is valid for APNs, it is an APNs token, because an FCM token
    /// never consists of hexadecimal digits only.
    func appDevice(_ request: HTTPRequest) throws(APIError) -> DeviceRegistration {
        let text = try tokenText("deviceToken", request)
        let platform: DeviceToken.Platform? = try choice("platform")
        let environment: DeviceToken.Environment? = try choice("environment")
        let isUnregistration = request.method == .delete
        guard platform != nil || isUnregistration else { throw missing("platform", "ios or android") }
        let token = try Self.checked("deviceToken") { () throws(RuleError) in try Self.token(text, platform, environment) }
        guard !isUnregistration else { return DeviceRegistration(.unregister, token, form: .appDevice) }
        return DeviceRegistration(.register, token, deviceID: try deviceID(), form: .appDevice)
    }

    private static func token(
        _ text: String, _ platform: DeviceToken.Platform?, _ environment: DeviceToken.Environment?
    ) throws(RuleError) -> DeviceToken {
        switch platform {
        case .ios: return try .apns(text, environment)
        case .android: return try .fcm(text, .android)
        case nil:
            if let token = try? DeviceToken.apns(text, environment) { return token }
            return try .fcm(text)
        }
    }

    /// The token as sent. A DELETE may have the token in the query instead of the body, because some proxies drop the
    /// body of a DELETE (RFC 9110 section 9.3.5).
    private func tokenText(_ name: String, _ request: HTTPRequest) throws(APIError) -> String {
        if request.method == .delete, self[name] == nil, let text = request.queryValue(name) { return text }
        return try requiredText(name)
    }

    /// Converts the error of an invalid token to a 400 that names the field.
    private static func checked(
        _ field: String, _ read: () throws(RuleError) -> DeviceToken
    ) throws(APIError) -> DeviceToken {
        do throws(RuleError) {
            return try read()
        } catch {
            throw .field(field, "Expected \"\(field)\": \(error.text)")
        }
    }

    /// A string member that is the raw value of a case of `Choice`, in any case of letters, such as `iOS`. Nil if absent or
    /// null.
    private func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String) throws(APIError) -> Choice? {
        guard let text = try text(name).value else { return nil }
        let written = text.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
        guard let choice = Choice.allCases.first(where: { $0.rawValue.utf8.elementsEqual(written) }) else {
            throw invalid(name, "be \(Choice.allCases.map(\.rawValue).joined(separator: " or ")); found \(text.clipped)")
        }
        return choice
    }

    private func deviceID() throws(APIError) -> String? {
        guard let id = try text("deviceId").value else { return nil }
        let characters = id.unicodeScalars
        guard (1...Self.deviceIDLengthMax).contains(characters.count),
            characters.allSatisfy({ $0.properties.generalCategory != .control })
        else { throw invalid("deviceId", "have 1 to \(Self.deviceIDLengthMax) characters, none of them a control character") }
        return id
    }

    // MARK: Preferences

    /// `{"types":{name: bool},"quietHours":{enabled, from, to, timeZone}}`. Null for a value inside these objects
    /// restores the default; null for `types` or `quietHours` itself changes nothing.
    /// - Parameters:
    ///   - isKnown: returns whether something is pushed as a type or event with this name. Called with valid names.
    func preferenceChanges(
        isTimeZone: (String) -> Bool, isKnown: (String) -> Bool
    ) throws(APIError) -> PreferenceChanges {
        var changes = PreferenceChanges()
        for (name, isOn) in try typeSwitches() {
            // A type that was known once can be removed.
            if isOn == nil || isKnown(name) {
                changes.types.updateValue(isOn, forKey: name)
            } else {
                changes.unknown.append(name)
            }
        }
        changes.unknown.sort()
        guard let object = try object("quietHours") else { return changes }
        let hours = try JSONBody(object, of: "quietHours")
        let standard = Preferences.QuietHours()
        changes.isEnabled = try hours.boolean("enabled").value(clearedTo: standard.isEnabled)
        changes.from = try hours.minutes("from").value(clearedTo: standard.from)
        changes.to = try hours.minutes("to").value(clearedTo: standard.to)
        let zone = try hours.text("timeZone")
        if case .set(let name) = zone, !Self.isName(name, allowing: "+/:") || !isTimeZone(name) {
            throw hours.invalid(
                "timeZone",
                "be a name in the IANA time zone database, such as Europe/London, or an offset such as GMT+05:30; found \(name.clipped)"
            )
        }
        changes.timeZone = zone.value(clearedTo: standard.timeZone)
        return changes
    }

    /// The member `types`: whether each type is on. Nil for a type means null, which restores the default.
    private func typeSwitches() throws(APIError) -> [String: Bool?] {
        guard let object = try object("types") else { return [:] }
        let members = try JSONBody.members(of: object)
        guard members.count <= PreferenceChanges.typesMax else {
            throw invalid("types", "contain at most \(PreferenceChanges.typesMax) types; found \(members.count)")
        }
        var switches: [String: Bool?] = [:]
        for (name, value) in members {
            guard Self.isName(name) else {
                let expectation = "contain names of 1 to \(Self.nameLengthMax) characters of A-Z a-z 0-9 _ -"
                throw invalid("types", "\(expectation); found \(name.clipped)")
            }
            guard value.kind == .null || value.boolean != nil else { throw invalid("types.\(name)", "be true or false") }
            switches.updateValue(value.boolean, forKey: name)
        }
        return switches
    }

    /// The members in the order written. They are not in a dictionary, because hashing a long name can be slow, and the
    /// names are not checked yet.
    private static func members(of object: UnsafeRawBufferPointer) throws(APIError) -> [(name: String, value: JSONSlice)] {
        try APIError.mappingJSONErrors {
            var members: [(name: String, value: JSONSlice)] = []
            try JSONReader.object(object) { key, value in members.append((key.string ?? "", value)) }
            return members
        }
    }

    /// A string member that is a time of day, such as `22:00`. The result is in minutes since midnight.
    private func minutes(_ name: String) throws(APIError) -> Change<Int> {
        switch try text(name) {
        case .keep: return .keep
        case .clear: return .clear
        case .set(let text):
            guard let minutes = Preferences.minutes(ofClock: text) else {
                throw invalid(name, "be a time of day from 00:00 to 23:59; found \(text.clipped)")
            }
            return .set(minutes)
        }
    }

    /// Whether `text` has 1 to 64 characters, each from `[A-Za-z0-9_-]` or `others`.
    private static func isName(_ text: String, allowing others: StaticString = "") -> Bool {
        (1...nameLengthMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: others.withUTF8Buffer { $0.contains(byte) }
                }
            }
    }
}
