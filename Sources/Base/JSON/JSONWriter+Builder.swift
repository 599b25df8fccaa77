import Primitives

/// Writes objects and arrays with their braces, brackets and commas, so that a caller cannot forget one.
///
/// ```swift
/// json.object {
///     $0.member("success", true)
///     $0.member("data") { $0.member("ids", ids) }
/// }
/// ```
///
/// The writer keeps no nesting state: a comma is needed unless the last byte opened the object or array. Overloads are
/// concrete, and the few generic functions are inlinable, because the compiler specialises a generic function of
/// another module only if it is inlinable.
extension JSONWriter {
    // MARK: Objects

    /// Writes an object. `members` writes its members, by `member` or by ``key(_:)-StaticString`` and any value.
    @inlinable package mutating func object<Failure: Error>(
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        raw("{")
        try members(&self)
        raw("}")
    }

    /// Begins a member: writes a comma if one is needed, the name and a colon. The caller then writes the value.
    /// - Parameter name: written without escaping, so it must not contain characters that JSON escapes.
    package mutating func key(_ name: StaticString) {
        separate()
        raw("\"")
        raw(name)
        raw("\":")
    }

    /// Begins a member whose name is known only at run time. The name is escaped.
    package mutating func key(_ name: String) {
        separate()
        string(name)
        raw(":")
    }

    /// A member whose value is an object.
    @inlinable package mutating func member<Failure: Error>(
        _ name: StaticString, _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        key(name)
        try object(members)
    }

    /// A member whose value is a string, or null.
    package mutating func member(_ name: StaticString, _ value: String?) {
        key(name)
        optional(value)
    }

    /// A member whose value is an integer, or null.
    @inlinable package mutating func member(_ name: StaticString, _ value: (some BinaryInteger)?) {
        key(name)
        if let value { integer(value) } else { raw("null") }
    }

    /// A member whose value is true, false or null.
    package mutating func member(_ name: StaticString, _ value: Bool?) {
        key(name)
        optional(value)
    }

    /// A member whose value is a number as received, or null.
    package mutating func member(_ name: StaticString, _ value: JSONNumber?) {
        key(name)
        optional(value)
    }

    /// A member whose value is an array of strings.
    package mutating func member(_ name: StaticString, _ values: [String]) {
        key(name)
        array(values)
    }

    /// A member whose value is an array. `write` writes one element.
    @inlinable package mutating func member<Element, Failure: Error>(
        _ name: StaticString, _ elements: [Element], _ write: (inout JSONWriter, Element) throws(Failure) -> Void
    ) throws(Failure) {
        key(name)
        try array(elements, write)
    }

    /// A member whose value is already JSON.
    package mutating func member(_ name: StaticString, json: [UInt8]) {
        key(name)
        raw(json)
    }

    /// A member whose value is already JSON, in borrowed bytes.
    package mutating func member(_ name: StaticString, json: UnsafeRawBufferPointer) {
        key(name)
        raw(json)
    }

    /// A member whose value is a time as ``time(_:)`` writes it, or null.
    /// - Parameter time: milliseconds since 1970.
    package mutating func member(_ name: StaticString, time: Int64?) {
        key(name)
        self.time(time)
    }

    // MARK: Members that are left out

    /// A string member, left out if `value` is nil.
    package mutating func member(_ name: StaticString, ifPresent value: String?) {
        if let value { member(name, value) }
    }

    /// An integer member, left out if `value` is nil.
    @inlinable package mutating func member(_ name: StaticString, ifPresent value: (some BinaryInteger)?) {
        if let value { member(name, value) }
    }

    /// A boolean member, left out if `value` is nil.
    package mutating func member(_ name: StaticString, ifPresent value: Bool?) {
        if let value { member(name, value) }
    }

    /// A number member, left out if `value` is nil.
    package mutating func member(_ name: StaticString, ifPresent value: JSONNumber?) {
        if let value { member(name, value) }
    }

    /// A member whose value is already JSON, left out if `json` is nil.
    package mutating func member(_ name: StaticString, jsonIfPresent json: [UInt8]?) {
        if let json { member(name, json: json) }
    }

    // MARK: Arrays

    /// Writes an array of strings.
    package mutating func array(_ strings: [String]) {
        raw("[")
        for text in strings {
            separate()
            string(text)
        }
        raw("]")
    }

    /// Writes an array. `write` writes one element.
    @inlinable package mutating func array<Element, Failure: Error>(
        _ elements: [Element], _ write: (inout JSONWriter, Element) throws(Failure) -> Void
    ) throws(Failure) {
        raw("[")
        for element in elements {
            separate()
            try write(&self, element)
        }
        raw("]")
    }

    /// Writes an array whose elements do not come from a Swift array. `elements` calls ``element()`` before each
    /// element.
    @inlinable package mutating func array<Failure: Error>(
        _ elements: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        raw("[")
        try elements(&self)
        raw("]")
    }

    /// Begins an element: writes a comma if one is needed. The caller then writes the value.
    package mutating func element() { separate() }

    // MARK: Values

    package mutating func boolean(_ value: Bool) { value ? raw("true") : raw("false") }

    /// Writes true, false, or null if `value` is nil.
    package mutating func optional(_ value: Bool?) {
        if let value { boolean(value) } else { raw("null") }
    }

    /// Writes a number as received, or null if `number` is nil.
    package mutating func optional(_ number: JSONNumber?) {
        if let number { raw(number.text.utf8) } else { raw("null") }
    }

    /// Writes a time as a string in ISO 8601, `2026-11-21T09:30:00.123Z`.
    /// - Parameter milliseconds: since 1970; nil is written as null.
    package mutating func time(_ milliseconds: Int64?) {
        optional(milliseconds.map { Timestamp.iso8601(milliseconds: $0) })
    }

    /// Writes a comma unless the last byte opened an object or an array, or nothing is written yet. The last byte
    /// suffices to decide this, because no complete JSON value ends with an opening brace or bracket.
    package mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["): return
        default: raw(",")
        }
    }
}
