/// Quotes values for error messages and the terminal. A quoted value has no line breaks.
enum QuotedValue {
    /// The most characters of a value that ``of(_:)`` shows, before escaping.
    static let charactersMax = 60

    /// The value in quotes and escaped. `…` marks that its end was cut off.
    static func of(_ text: String) -> String {
        let cut = text.prefix(charactersMax)
        return String(cut).debugDescription + (cut.endIndex < text.endIndex ? "…" : "")
    }

    /// The value in quotes, uncut. Escapes only quotes, backslashes, line separators and control characters, so that
    /// values in any language stay readable.
    static func whole(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: quoted += scalar.escaped(asASCII: true)
            default: quoted += scalar == "\"" || scalar == "\\" ? "\\\(scalar)" : "\(scalar)"
            }
        }
        return quoted + "\""
    }

    /// The length of a secret in characters. It helps to recognise the secret without showing it.
    static func sizeOnly(of text: String) -> String {
        switch text.count {
        case 0: "\"\""
        case 1: "a value of 1 character"
        case let count: "a value of \(count) characters"
        }
    }

    /// A map's key as part of a path such as `server.port`: in quotes only if it has other characters than letters,
    /// digits, `_` and `-`, or is longer than ``charactersMax``.
    static func ofKey(_ key: String) -> String {
        let isPlain = key.utf8.allSatisfy(\.isNameByte)
        return isPlain && (1...charactersMax).contains(key.utf8.count) ? key : of(key)
    }
}
