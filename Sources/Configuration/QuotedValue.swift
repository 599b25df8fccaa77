/// How an error shows what somebody wrote: in quotes, on one line, and not for ever.
enum QuotedValue {
    static let charactersMax = 60

    static func of(_ text: String) -> String {
        let cut = text.prefix(charactersMax)
        return String(cut).debugDescription + (cut.endIndex < text.endIndex ? "…" : "")
    }

    /// A text for readers, not for programmers: whole, and only what would leave its line is escaped.
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

    /// A secret's size says which one it is without saying it.
    static func sizeOnly(of text: String) -> String {
        switch text.count {
        case 0: "\"\""
        case 1: "a value of 1 character"
        case let count: "a value of \(count) characters"
        }
    }

    /// A key as a part of a path: bare when it looks like one of ours.
    static func ofKey(_ key: String) -> String {
        let isPlain = key.utf8.allSatisfy(\.isNameByte)
        return isPlain && (1...charactersMax).contains(key.utf8.count) ? key : of(key)
    }
}
