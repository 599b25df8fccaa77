/// How an error shows what somebody wrote: in quotes, on one line, and not for ever.
enum Quotation {
    static let charactersMax = 60

    static func of(_ text: String) -> String {
        let cut = text.prefix(charactersMax)
        return String(cut).debugDescription + (cut.endIndex < text.endIndex ? "…" : "")
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
