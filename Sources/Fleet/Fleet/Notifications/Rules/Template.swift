/// A push text with fields. `{field}` is replaced by the field's value, or by nothing if the event has no such field.
/// `{field|default}` is replaced by the value or, if there is none, by the default. `{{` and `}}` are literal braces.
///
/// A template may have several alternative texts, so that a missing field leaves no hole in a sentence: the first text
/// applies whose fields without default all have values, else the last.
///
/// Parsing finds all syntax errors, so rendering cannot fail.
package struct Template: Equatable, Sendable {
    /// The alternatives, at least one.
    private let texts: [TemplateText]

    /// The syntax error in a string that is not a template.
    package struct SyntaxError: Error, Equatable {
        /// What was expected at which character (counted from 1), for the configuration's error text. Does not quote
        /// the string.
        package let reason: String
    }

    /// Parses a template without alternatives.
    package init(parsing text: String) throws(SyntaxError) { texts = [try TemplateText(parsing: text)] }

    /// A template whose texts are those of `alternatives`, in this order.
    /// - Precondition: there is at least one.
    package init(_ alternatives: [Template]) {
        precondition(!alternatives.isEmpty, "a template without a text")
        texts = alternatives.flatMap(\.texts)
    }

    /// The names of the fields in order, with repetitions.
    package var fields: [String] { texts.flatMap(\.fields) }

    /// The text with its fields filled in. An empty value counts as missing.
    package func render(_ value: (_ field: String) -> String?) -> String {
        let text = texts.dropLast().first { $0.isComplete(value) } ?? texts[texts.count - 1]
        return text.render(value)
    }
}

/// One text of a ``Template``.
private struct TemplateText: Equatable {
    private var parts: [Part] = []

    private enum Part: Equatable {
        case text(String)
        /// The default is nil if the text has none.
        case field(String, default: String?)
    }

    init(parsing text: String) throws(Template.SyntaxError) {
        // Parses bytes, not characters: a brace with a combining accent after it is one `Character`, which does not
        // equal a brace.
        let bytes = Array(text.utf8)
        var literal: [UInt8] = []
        var next = 0
        while next < bytes.count {
            let byte = bytes[next]
            guard byte.isBrace else {
                literal.append(byte)
                next += 1
                continue
            }
            if next + 1 < bytes.count, bytes[next + 1] == byte {
                literal.append(byte)
                next += 2
                continue
            }
            let position = String(decoding: bytes[..<next], as: UTF8.self).count + 1
            guard byte == UInt8(ascii: "{") else {
                throw Template.SyntaxError(reason: "expected a { before the } at character \(position), or }} for a plain }")
            }
            append(literal: literal)
            literal = []
            let field = bytes[(next + 1)...].prefix { !$0.isBrace }
            guard field.endIndex < bytes.count, bytes[field.endIndex] == UInt8(ascii: "}") else {
                throw Template.SyntaxError(reason: "expected a } after the { at character \(position), or {{ for a plain {")
            }
            try append(field: field, at: position)
            next = field.endIndex + 1
        }
        append(literal: literal)
    }

    /// The names of the fields in order, with repetitions.
    var fields: [String] {
        parts.compactMap { if case .field(let name, _) = $0 { name } else { nil } }
    }

    /// Whether each field without default has a value.
    func isComplete(_ value: (_ field: String) -> String?) -> Bool {
        parts.allSatisfy { part in
            guard case .field(let name, default: nil) = part else { return true }
            return value(name).map { !$0.isEmpty } ?? false
        }
    }

    func render(_ value: (_ field: String) -> String?) -> String {
        parts.map { part in
            switch part {
            case .text(let text): return text
            case .field(let name, let defaultText):
                guard let value = value(name), !value.isEmpty else { return defaultText ?? "" }
                return value
            }
        }.joined()
    }

    private mutating func append(literal bytes: [UInt8]) {
        if !bytes.isEmpty { parts.append(.text(String(decoding: bytes, as: UTF8.self))) }
    }

    private mutating func append(field bytes: ArraySlice<UInt8>, at position: Int) throws(Template.SyntaxError) {
        let name = bytes.prefix { $0 != UInt8(ascii: "|") }
        guard let first = name.first, first.isLetter, name.allSatisfy({ $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") })
        else {
            throw Template.SyntaxError(
                reason: "expected a field's name after the { at character \(position): a letter, then letters, digits or _")
        }
        let rest = bytes[name.endIndex...]
        let text = rest.isEmpty ? nil : String(decoding: rest.dropFirst(), as: UTF8.self)
        parts.append(.field(String(decoding: name, as: UTF8.self), default: text))
    }
}

extension Template: ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    /// The alternatives of a template.
    package init(arrayLiteral alternatives: Template...) { self.init(alternatives) }

    /// - Precondition: the literal is a valid template.
    package init(stringLiteral text: String) {
        do {
            try self.init(parsing: text)
        } catch {
            preconditionFailure("invalid template literal \(text.debugDescription): \(error.reason)")
        }
    }
}

extension UInt8 {
    fileprivate var isBrace: Bool { self == UInt8(ascii: "{") || self == UInt8(ascii: "}") }
    fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
    // Setting bit 0x20 makes an ASCII letter lower-case.
    fileprivate var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
}
