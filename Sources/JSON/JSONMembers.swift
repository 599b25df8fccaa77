/// Copies of those members of a JSON object whose names are cases of `Name`.
///
/// If one of these members occurs twice, that is an error: some JSON readers use the first, others the last. A
/// signature covers both, so two readers could take different values from one signed object. Other members are
/// validated as JSON and ignored.
package struct JSONMembers<Name: CaseIterable & Hashable & RawRepresentable<String>> {
    /// A member's value.
    package enum Value: Equatable {
        case text(String)
        /// A number, as written.
        case number(String)
        /// An array that contains only strings.
        case texts([String])
        case null
        /// A boolean, an object, or an array with other elements.
        case other
    }

    private var values: [Name: Value] = [:]

    /// The member's value. Nil if the object does not contain it.
    package subscript(name: Name) -> Value? { values[name] }

    /// - Throws: ``JSONMembersError`` if `object` is not a JSON object, or contains a listed member twice.
    package init(of object: [UInt8]) throws(JSONMembersError) {
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
        guard let text = key.string, let name = Name.allCases.first(where: { $0.rawValue.utf8.elementsEqual(text.utf8) })
        else { return }
        guard values.updateValue(Self.value(value), forKey: name) == nil else {
            throw JSONMembersError(problem: "\(name.rawValue) is given twice")
        }
    }

    private static func value(_ slice: JSONSlice) -> Value {
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
