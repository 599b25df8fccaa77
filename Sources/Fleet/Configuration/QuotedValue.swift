/// Quotes values for error messages and the terminal. Line breaks are escaped, so a quoted value is always one line.
enum QuotedValue {
    /// The most characters of a value that ``of(_:)`` shows, counted before escaping. An operator recognises a value by
    /// its beginning.
    static let charactersMax = 60

    /// The value escaped and in quotes. A value longer than ``charactersMax`` is cut off, and `…` follows the closing
    /// quote.
    static func of(_ text: String) -> String {
        let cut = text.prefix(charactersMax)
        return String(cut).debugDescription + (cut.endIndex < text.endIndex ? "…" : "")
    }

    /// The whole value in quotes. Escapes only quotes, backslashes, line separators and control characters, so that
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

    /// Describes a secret by its length, for errors that must not show the secret. The length helps an operator to
    /// recognise it. An empty secret is shown as `""`.
    static func sizeOnly(of text: String) -> String {
        switch text.count {
        case 0: "\"\""
        case 1: "a value of 1 character"
        case let count: "a value of \(count) characters"
        }
    }

    /// A map's key as part of a path such as `server.port`. The key is in quotes if it is empty, longer than
    /// ``charactersMax``, or contains anything but letters, digits, `_` and `-`.
    static func ofKey(_ key: String) -> String {
        let isPlain = key.utf8.allSatisfy(\.isNameByte)
        return isPlain && (1...charactersMax).contains(key.utf8.count) ? key : of(key)
    }
}
