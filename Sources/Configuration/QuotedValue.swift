/// Quotes a value for an error message: one line, at most 60 characters.
enum QuotedValue {
    static let charactersMax = 60

    static func of(_ text: String) -> String {
        let cut = text.prefix(charactersMax)
        return String(cut).debugDescription + (cut.endIndex < text.endIndex ? "…" : "")
    }

    /// The whole text. Escapes only quotes, backslashes and characters that break the line or control the terminal.
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

    /// A secret's size, which helps to recognise the secret without revealing it.
    static func sizeOnly(of text: String) -> String {
        switch text.count {
        case 0: "\"\""
        case 1: "a value of 1 character"
        case let count: "a value of \(count) characters"
        }
    }

    /// A key as part of a path: unquoted if it could be one of ours.
    static func ofKey(_ key: String) -> String {
        let isPlain = key.utf8.allSatisfy(\.isNameByte)
        return isPlain && (1...charactersMax).contains(key.utf8.count) ? key : of(key)
    }
}
