/// A text with fields: `{field}` is the field's value, or nothing; `{field|words}` is its value, or else the words; `{{`
/// and `}}` are plain braces.
///
/// Parsed once, so that nothing can go wrong when it is rendered.
package struct Template: Equatable, Sendable {
    private var parts: [Part] = []

    private enum Part: Equatable {
        case text(String)
        case field(String, otherwise: String)
    }

    /// Why a text is no template, in words fit for `ConfigurationError.problem`.
    package struct Failure: Error, Equatable {
        /// What was expected, and at which character. It quotes nothing of the text.
        package let reason: String
    }

    /// The template that a text describes.
    package init(parsing text: String) throws(Failure) {
        // In bytes: in characters, an accent after a brace would hide the brace.
        let bytes = Array(text.utf8)
        var plain: [UInt8] = []
        var next = 0
        while next < bytes.count {
            let byte = bytes[next]
            guard byte.isBrace else {
                plain.append(byte)
                next += 1
                continue
            }
            if next + 1 < bytes.count, bytes[next + 1] == byte {
                plain.append(byte)
                next += 2
                continue
            }
            let position = String(decoding: bytes[..<next], as: UTF8.self).count + 1
            guard byte == UInt8(ascii: "{") else {
                throw Failure(reason: "expected a { before the } at character \(position), or }} for a plain }")
            }
            append(text: plain)
            plain = []
            let field = bytes[(next + 1)...].prefix { !$0.isBrace }
            guard field.endIndex < bytes.count, bytes[field.endIndex] == UInt8(ascii: "}") else {
                throw Failure(reason: "expected a } after the { at character \(position), or {{ for a plain {")
            }
            try append(field: field, at: position)
            next = field.endIndex + 1
        }
        append(text: plain)
    }

    /// The names of its fields, in order.
    package var fields: [String] {
        parts.compactMap { if case .field(let name, _) = $0 { name } else { nil } }
    }

    /// The text with its fields filled in; an empty value is a missing one.
    package func render(_ value: (_ field: String) -> String?) -> String {
        parts.map { part in
            switch part {
            case .text(let text): return text
            case .field(let name, let otherwise):
                guard let value = value(name), !value.isEmpty else { return otherwise }
                return value
            }
        }.joined()
    }

    private mutating func append(text bytes: [UInt8]) {
        if !bytes.isEmpty { parts.append(.text(String(decoding: bytes, as: UTF8.self))) }
    }

    private mutating func append(field bytes: ArraySlice<UInt8>, at position: Int) throws(Failure) {
        let name = bytes.prefix { $0 != UInt8(ascii: "|") }
        guard let first = name.first, first.isLetterOrDigit, !first.isDigit,
            name.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "_") })
        else {
            throw Failure(
                reason: "expected a field's name after the { at character \(position): a letter, then letters, digits or _")
        }
        let words = bytes[name.endIndex...].dropFirst()
        parts.append(.field(String(decoding: name, as: UTF8.self), otherwise: String(decoding: words, as: UTF8.self)))
    }
}

extension Template: ExpressibleByStringLiteral {
    /// A template of our own, which is one.
    package init(stringLiteral text: String) {
        do {
            try self.init(parsing: text)
        } catch {
            preconditionFailure("\(text.debugDescription) is no template: \(error.reason)")
        }
    }
}

extension UInt8 {
    fileprivate var isBrace: Bool { self == UInt8(ascii: "{") || self == UInt8(ascii: "}") }
}
