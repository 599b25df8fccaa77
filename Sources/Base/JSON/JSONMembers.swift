/// Copies of those members of a JSON object whose names are cases of `Name`.
///
/// If one of these members occurs twice, that is an error: some JSON readers use the first, others the last. A
/// signature covers both, so two readers could take different values from one signed object. Other members are
/// validated as JSON and ignored.
package struct JSONMembers<Name: CaseIterable & Hashable & RawRepresentable<String>> {
    package typealias Value = JSONMemberValue

    // All of it is inlined, because generic code that is not specialised costs more than reading a small object.
    @usableFromInline var values: [Name: Value] = [:]

    /// The member's value. Nil if the object does not contain it.
    @inlinable package subscript(name: Name) -> Value? { values[name] }

    /// - Throws: ``JSONMembersError`` if `object` is not a JSON object, or contains a listed member twice.
    @inlinable package init(of object: [UInt8]) throws(JSONMembersError) {
        let names = Array(Name.allCases)
        let members = try ListedMembers(names.map(\.rawValue), of: object)
        for (index, value) in members.values.enumerated() { if let value { values[names[index]] = value } }
    }
}

/// A member's value, copied.
@usableFromInline package enum JSONMemberValue: Equatable {
    case text(String)
    /// A number, as written.
    case number(String)
    /// An array that contains only strings.
    case texts([String])
    case null
    /// A boolean, an object, or an array with other elements.
    case other
}

/// The values of those members that have one of some names. Not generic, because the compiler would not specialise it for
/// the names of other modules: members that nobody asks for would cost the most.
@usableFromInline struct ListedMembers {
    /// In the order of the names; nil if the object does not contain the member.
    @usableFromInline private(set) var values: [JSONMemberValue?]
    private let names: [String]
    /// A bit for each length that a name has. A member of another length is not looked up.
    private let lengths: UInt64

    @usableFromInline init(_ names: [String], of object: [UInt8]) throws(JSONMembersError) {
        self.names = names
        values = Array(repeating: nil, count: names.count)
        lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8.count) }
        do {
            try object.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in try add(key, value) }
            }
        } catch {
            throw JSONMembersError(error)
        }
    }

    private mutating func add(_ key: JSONSlice, _ value: JSONSlice) throws {
        // Compares names as bytes, after decoding escapes.
        guard mayBeListed(key), let index = names.firstIndex(where: { key.equals(text: $0) }) else { return }
        guard values[index] == nil else { throw JSONMembersError(problem: "\(names[index]) is given twice") }
        values[index] = Self.value(value)
    }

    private func mayBeListed(_ key: JSONSlice) -> Bool {
        // A shift by more than the width gives 0.
        key.hasText(upTo: UInt64.bitWidth) == true && lengths >> UInt64(key.stringByteCount ?? 0) & 1 == 1
    }

    private static func value(_ slice: JSONSlice) -> JSONMemberValue {
        switch slice.kind {
        case .string: return .text(slice.string ?? "")
        case .number: return .number(String(decoding: slice.raw, as: UTF8.self))
        case .null: return .null
        case .boolean, .object: return .other
        case .array:
            var texts: [String] = []
            do {
                try JSONReader.array(slice.raw) { element in
                    guard let text = element.string else { throw JSONMembersError(problem: "not a string") }
                    texts.append(text)
                }
            } catch {
                return .other
            }
            return .texts(texts)
        }
    }
}

/// Why an object could not be read by ``JSONMembers``.
package struct JSONMembersError: Error, Equatable {
    /// The problem, worded so that it can follow the name of what was read: "the token's header: …".
    package let problem: String

    package init(problem: String) { self.problem = problem }

    package init(_ error: any Error) {
        switch error {
        case let error as JSONMembersError: self = error
        case let error as JSONError: problem = "\(error.problem) at byte \(error.offset)"
        default: problem = "\(error)"
        }
    }
}
