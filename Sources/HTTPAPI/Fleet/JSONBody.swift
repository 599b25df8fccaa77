import Access
import FleetRules
import JSON
import Primitives

/// The body of a request to the fleet's API, its members read by name and kind. Unknown members are ignored, wrong kinds
/// refused by name; an absent body is an empty object.
///
/// Its slices point into the request's bytes: it lives as long as the call.
struct JSONBody {
    private var members: [String: JSONSlice] = [:]
    /// Bytes of a member's name: none of ours has more, and longer ones are not hashed, which can take long.
    private static let nameBytesMax = 32
    /// What stands before a member's name where a refusal tells it, the dot included; empty for a whole body.
    private let path: String

    /// - Parameter object: the member that this is the value of, for what is said of its own members; nil: it is a whole body.
    init(_ bytes: UnsafeRawBufferPointer, of object: String? = nil) throws(APIError) {
        path = object.map { $0 + "." } ?? ""
        guard !bytes.isEmpty else { return }
        members = try APIError.wrappingJSON {
            var members: [String: JSONSlice] = [:]
            try JSONReader.object(bytes) { key, value in
                if let name = key.string, name.utf8.count <= Self.nameBytesMax { members[name] = value }
            }
            return members
        }
    }

    /// The member's value; nil when it is absent or null.
    subscript(name: String) -> JSONSlice? { members[name].flatMap { $0.kind == .null ? nil : $0 } }

    /// What is said of a text: nothing, null, or a new one.
    func text(_ name: String) throws(APIError) -> Change<String> {
        try change(name) { value throws(APIError) in
            guard let text = value.string else { throw wrong(name, "be a string") }
            // PostgreSQL has no such texts, and no honest client sends one.
            guard !text.utf8.contains(0) else { throw wrong(name, "hold no NUL") }
            return text
        }
    }

    /// The same for a text that may become a part of a channel's name.
    func name(_ name: String) throws(APIError) -> Change<String> {
        try change(name) { value throws(APIError) in
            guard let text = value.string else { throw wrong(name, "be a string") }
            return try Self.checkedName(text, field: path + name)
        }
    }

    func number(_ name: String) throws(APIError) -> Change<JSONNumber> {
        try change(name) { value throws(APIError) in
            // A number that no double holds would cost other people's decoders the whole event.
            guard value.kind == .number, Double(String(decoding: value.raw, as: UTF8.self))?.isFinite == true else {
                throw wrong(name, "be a number")
            }
            return JSONNumber(text: String(decoding: value.raw, as: UTF8.self))
        }
    }

    /// A number that counts something.
    func count(_ name: String) throws(APIError) -> Change<JSONNumber> {
        try change(name) { value throws(APIError) in
            guard value.kind == .number, let count = value.integer, count >= 0 else {
                throw wrong(name, "be a whole number from 0")
            }
            return JSONNumber(text: String(decoding: value.raw, as: UTF8.self))
        }
    }

    /// A text that says when, in ISO 8601.
    func time(_ name: String) throws(APIError) -> Change<String> {
        let change = try text(name)
        guard case .set(let text) = change, !Timestamp.isISO8601(text) else { return change }
        throw wrong(name, "be a time in ISO 8601, such as 2026-11-21T09:30:00Z")
    }

    /// A text that has to be there.
    func requiredText(_ name: String) throws(APIError) -> String {
        guard let text = try text(name).value else { throw missing(name, "a string") }
        return text
    }

    func requiredTime(_ name: String) throws(APIError) -> String {
        guard let text = try time(name).value else { throw missing(name, "a time in ISO 8601") }
        return text
    }

    /// A list of one to `countMax` texts that may become parts of channels' names; nil when it is absent.
    func names(_ name: String, countMax: Int) throws(APIError) -> [String]? {
        guard let values = try list(name, countMax: countMax) else { return nil }
        var names: [String] = []
        for value in values {
            guard let text = value.string else { throw wrong(name, "be strings") }
            names.append(try Self.checkedName(text, field: path + name))
        }
        return names
    }

    /// A list of one to `countMax` values; nil when it is absent.
    func list(_ name: String, countMax: Int) throws(APIError) -> [JSONSlice]? {
        guard let value = self[name] else { return nil }
        guard value.kind == .array else { throw wrong(name, "be an array") }
        var elements: [JSONSlice] = []
        try APIError.wrappingJSON { try JSONReader.array(value.raw) { elements.append($0) } }
        guard (1...countMax).contains(elements.count) else {
            throw wrong(name, "hold 1 to \(countMax) elements, found \(elements.count)")
        }
        return elements
    }

    /// An object's bytes; nil when it is absent.
    func object(_ name: String) throws(APIError) -> UnsafeRawBufferPointer? {
        guard let value = self[name] else { return nil }
        guard value.kind == .object else { throw wrong(name, "be an object") }
        return value.raw
    }

    /// True, false or absent.
    func flag(_ name: String) throws(APIError) -> Bool? { try boolean(name).value }

    func boolean(_ name: String) throws(APIError) -> Change<Bool> {
        try change(name) { value throws(APIError) in
            guard let isOn = value.boolean else { throw wrong(name, "be true or false") }
            return isOn
        }
    }

    /// Codes, references and ids become parts of channels' names.
    static func checkedName(_ text: String, field: String) throws(APIError) -> String {
        guard Identity.isReference(text) else {
            throw .wrong(field, "be 1 to \(Identity.idLengthMax) of A-Z a-z 0-9 _ - = @ , . ; found \(text.clipped)")
        }
        return text
    }

    /// The refusal of a member that is something else than `expectation` says.
    func wrong(_ name: String, _ expectation: String) -> APIError { .wrong(path + name, expectation) }

    /// The refusal of a body that lacks a member.
    func missing(_ name: String, _ what: String) -> APIError { .missing(path + name, what) }

    private func change<Value>(
        _ name: String, _ read: (JSONSlice) throws(APIError) -> Value
    ) throws(APIError) -> Change<Value> {
        guard let value = members[name] else { return .keep }
        return value.kind == .null ? .clear : .set(try read(value))
    }
}

extension Change {
    /// The new value; nil when there is none.
    var value: Value? {
        if case .set(let value) = self { return value }
        return nil
    }

    /// The new value, which is `standard` for one that is cleared; nil when nothing is said of it.
    func value(clearedTo standard: Value) -> Value? {
        switch self {
        case .keep: nil
        case .clear: standard
        case .set(let value): value
        }
    }
}
