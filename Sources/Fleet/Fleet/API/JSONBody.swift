import Access
import JSON
import Primitives
import PusherAPI
import PusherProtocol

/// The JSON body of a request to the fleet's API. Members are read by name and kind. Unknown members are ignored, a
/// member of the wrong kind is rejected with a 400 that names it, and an absent body counts as an empty object.
///
/// Borrows the request's bytes: valid only while the request is handled.
struct JSONBody {
    private var members: [String: JSONSlice] = [:]
    /// Whether there are members whose names no member of the API has, because they are too long or not ASCII.
    private var hasForeignNames = false
    /// The maximum length of a member's name, in bytes. Longer names are ignored: the API defines none.
    private static let nameBytesMax = 32
    /// The most members of an object, unknown ones included: storing each of thousands would cost much more than reading
    /// them. The API defines some twenty.
    private static let membersMax = 256
    /// The prefix that error messages put before members' names, such as `quietHours.`. Empty for a whole body.
    private let path: String

    /// An empty object.
    init() { path = "" }

    /// - Parameters:
    ///   - bytes: the JSON of a whole body, or of a member that is an object.
    ///   - object: the name of that member, for error messages. Nil for a whole body.
    init(_ bytes: UnsafeRawBufferPointer, of object: String? = nil) throws(APIError) {
        path = object.map { $0 + "." } ?? ""
        guard !bytes.isEmpty else { return }
        (members, hasForeignNames) = try APIError.mappingJSONErrors {
            var members: [String: JSONSlice] = [:]
            var hasForeignNames = false
            var count = 0
            try JSONReader.object(bytes) { key, value in
                count += 1
                // The names that the API defines are ASCII. Hashing others takes long.
                guard count <= Self.membersMax, key.hasText(upTo: Self.nameBytesMax) == true, let name = key.string, name.isASCII
                else {
                    hasForeignNames = true
                    return
                }
                members[name] = value
            }
            guard count <= Self.membersMax else {
                throw APIError(400, "Expected \(object ?? "an object") with at most \(Self.membersMax) members; found \(count)")
            }
            return (members, hasForeignNames)
        }
    }

    /// Rejects a body with other members than these.
    func checkMembers(_ names: Set<String>) throws(APIError) {
        let unknown = members.keys.filter { !names.contains($0) }.min()
        guard unknown != nil || hasForeignNames else { return }
        let known = names.sorted().joined(separator: ", ")
        throw APIError(400, "Unknown \(unknown.map { "\"\(path)\($0)\"" } ?? "member"): expected only \(known)")
    }

    /// The member's value. Nil if absent or null.
    subscript(name: String) -> JSONSlice? { members[name].flatMap { $0.kind == .null ? nil : $0 } }

    /// Whether the body has a member, which may be null.
    func has(_ name: String) -> Bool { members[name] != nil }

    /// A string member, before it is checked. A text with NUL, which PostgreSQL cannot store, is unreadable.
    func sentText(_ name: String) -> SentField<String> {
        guard has(name) else { return .absent }
        guard let value = self[name] else { return .null }
        return value.string.flatMap { $0.utf8.contains(0) ? nil : .value($0) } ?? .unreadable
    }

    /// A string member.
    func text(_ name: String) throws(APIError) -> Change<String> {
        try change(name) { value throws(APIError) in
            guard let text = value.string else { throw invalid(name, "be a string") }
            // PostgreSQL cannot store NUL, and no legitimate client sends one.
            guard !text.utf8.contains(0) else { throw invalid(name, "contain no NUL character") }
            return text
        }
    }

    /// A string member that is shown on screens as a name: of a person, a place or a thing.
    func displayText(_ name: String) throws(APIError) -> Change<String> { try displayable(try text(name), name) }

    /// Checks that what is shown contains no control and format characters.
    /// - Returns: `change`.
    func displayable(_ change: Change<String>, _ name: String) throws(APIError) -> Change<String> {
        guard case .set(let text) = change, !text.isDisplayableName else { return change }
        throw invalid(name, "contain no control or format characters")
    }

    /// A string member that can be part of a channel name.
    func name(_ name: String) throws(APIError) -> Change<String> {
        try change(name) { value throws(APIError) in
            guard let text = value.string else { throw invalid(name, "be a string") }
            return try Self.checkedName(text, field: path + name)
        }
    }

    /// A string member that is an id, which can be part of a channel name. Some backends have whole numbers as ids.
    func id(_ name: String) throws(APIError) -> Change<String> {
        try change(name) { value throws(APIError) in try id(value, name) }
    }

    private func id(_ value: JSONSlice, _ name: String) throws(APIError) -> String {
        let isNumber = value.kind == .number && value.raw.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
        guard let text = isNumber ? String(decoding: value.raw, as: UTF8.self) : value.string else {
            throw invalid(name, value.kind == .number ? "be a string or a whole number" : "be a string")
        }
        return try Self.checkedName(text, field: path + name)
    }

    /// A number member, kept as written.
    func number(_ name: String) throws(APIError) -> Change<JSONNumber> {
        try change(name) { value throws(APIError) in
            let number = JSONNumber(text: String(decoding: value.raw, as: UTF8.self))
            guard value.kind == .number, number.isFinite else { throw invalid(name, "be a number") }
            return number
        }
    }

    /// A number member that is an integer of at least 0, kept as written.
    func count(_ name: String) throws(APIError) -> Change<JSONNumber> {
        try change(name) { value throws(APIError) in
            guard value.kind == .number, let count = value.integer, count >= 0 else {
                throw invalid(name, "be an integer of at least 0")
            }
            return JSONNumber(text: String(decoding: value.raw, as: UTF8.self))
        }
    }

    /// A string member that is a time in ISO 8601, kept as written.
    func time(_ name: String) throws(APIError) -> Change<String> {
        let change = try text(name)
        guard case .set(let text) = change, !Timestamp.isISO8601(text) else { return change }
        throw invalid(name, "be a time in ISO 8601, such as 2026-11-21T09:30:00Z")
    }

    /// A string member. Throws 400 if it is absent or null.
    func requiredText(_ name: String) throws(APIError) -> String {
        guard let text = try text(name).value else { throw missing(name, "a string") }
        return text
    }

    /// A time member. Throws 400 if it is absent or null.
    func requiredTime(_ name: String) throws(APIError) -> String {
        guard let text = try time(name).value else { throw missing(name, "a time in ISO 8601") }
        return text
    }

    /// An array of 1 to `countMax` strings that can be part of a channel name. Nil if absent or null.
    func names(_ name: String, countMax: Int) throws(APIError) -> [String]? {
        guard let values = try list(name, countMax: countMax) else { return nil }
        var names: [String] = []
        for value in values {
            guard let text = value.string else { throw invalid(name, "contain only strings") }
            names.append(try Self.checkedName(text, field: path + name))
        }
        return names
    }

    /// An array of 1 to `countMax` ids; see ``id(_:)``. Nil if absent or null.
    func ids(_ name: String, countMax: Int) throws(APIError) -> [String]? {
        guard let values = try list(name, countMax: countMax) else { return nil }
        return try values.map { value throws(APIError) in
            guard value.kind == .string || value.kind == .number else { throw invalid(name, "contain only strings") }
            return try id(value, name)
        }
    }

    /// An array of 1 to `countMax` values. Nil if absent or null.
    func list(_ name: String, countMax: Int) throws(APIError) -> [JSONSlice]? {
        guard let value = self[name] else { return nil }
        guard value.kind == .array else { throw invalid(name, "be an array") }
        var elements: [JSONSlice] = []
        try APIError.mappingJSONErrors { try JSONReader.array(value.raw) { elements.append($0) } }
        guard (1...countMax).contains(elements.count) else {
            throw invalid(name, "contain 1 to \(countMax) elements; found \(elements.count)")
        }
        return elements
    }

    /// The bytes of an object member. Nil if absent or null.
    func object(_ name: String) throws(APIError) -> UnsafeRawBufferPointer? {
        guard let value = self[name] else { return nil }
        guard value.kind == .object else { throw invalid(name, "be an object") }
        return value.raw
    }

    /// A boolean member. Nil if absent or null.
    func flag(_ name: String) throws(APIError) -> Bool? { try boolean(name).value }

    /// A boolean member.
    func boolean(_ name: String) throws(APIError) -> Change<Bool> {
        try change(name) { value throws(APIError) in
            guard let isOn = value.boolean else { throw invalid(name, "be true or false") }
            return isOn
        }
    }

    /// Checks a code, a reference or an id, which will be part of a channel name.
    /// - Returns: `text`.
    static func checkedName(_ text: String, field: String) throws(APIError) -> String {
        guard Identity.isReference(text) else {
            throw .invalid(
                field, "be 1 to \(Identity.idLengthMax) characters of A-Z a-z 0-9 _ - = @ , . ; (found \(text.clipped))")
        }
        return text
    }

    /// The path of a member from the body's beginning.
    func label(_ name: String) -> String { path + name }

    /// 400: `Expected "name" to …`.
    func invalid(_ name: String, _ expectation: String) -> APIError { .invalid(path + name, expectation) }

    /// 400: `Expected "name": … is required`.
    func missing(_ name: String, _ kind: String) -> APIError { .missing(path + name, kind) }

    private func change<Value>(
        _ name: String, _ read: (JSONSlice) throws(APIError) -> Value
    ) throws(APIError) -> Change<Value> {
        guard let value = members[name] else { return .keep }
        return value.kind == .null ? .clear : .set(try read(value))
    }
}

extension Change {
    /// The new value. Nil for `keep` and `clear`.
    var value: Value? {
        if case .set(let value) = self { return value }
        return nil
    }

    /// The new value, which is `standard` for `clear`. Nil for `keep`.
    func value(clearedTo standard: Value) -> Value? {
        switch self {
        case .keep: nil
        case .clear: standard
        case .set(let value): value
        }
    }
}
