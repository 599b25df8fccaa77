/// Brings values from outside into the configuration, so that secrets need not be written in it.
///
/// `${NAME}` anywhere in a value is the environment's; `$${` is a plain `${`. A whole value `file:PATH` is that file's
/// content. Only what was written is looked at, never what was brought in: a secret may contain anything.
struct VariableExpansion {
    /// All variables.
    let environment: [String: String]
    /// Where relative paths start: empty, or ending in a slash.
    let directory: String
    /// Reads a file.
    let content: (_ path: String) throws(UnreadableFile) -> String

    /// Why a value could not be made, in words fit for `ConfigurationError.problem`.
    struct Failure: Error, Equatable {
        let reason: String
    }

    func resolve(_ written: String) throws(Failure) -> String {
        guard written.hasPrefix("file:") else { return try expand(written) }
        let named = try expand(String(written.dropFirst("file:".count)))
        guard !named.isEmpty else { throw Failure(reason: "expected a path after file:") }
        let path = located(named)
        do {
            return withoutNewline(try content(path))
        } catch {
            throw Failure(reason: "cannot read \(QuotedValue.of(path)): \(error.reason)")
        }
    }

    /// The path of what the configuration names relative to itself.
    func located(_ path: String) -> String {
        path.hasPrefix("/") ? path : directory + path
    }

    /// Replaces each `${NAME}`. Works on bytes: in characters, an accent after a brace would hide the brace.
    private func expand(_ written: String) throws(Failure) -> String {
        var rest = written.utf8[...]
        var text: [UInt8] = []
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            text += rest[..<dollar]
            rest = rest[dollar...]
            if rest.starts(with: "$${".utf8) {
                text += "${".utf8
                rest = rest.dropFirst(3)
            } else if rest.starts(with: "${".utf8) {
                let name = try variableName(in: rest.dropFirst(2))
                guard let value = environment[name] else { throw Failure(reason: "${\(name)} is not set") }
                text += value.utf8
                rest = rest.dropFirst(name.utf8.count + 3)
            } else {
                text.append(UInt8(ascii: "$"))
                rest = rest.dropFirst()
            }
        }
        return String(decoding: text + rest, as: UTF8.self)
    }

    /// The name before the closing brace. Anything else is not repeated: it may be part of a secret.
    private func variableName(in rest: Substring.UTF8View) throws(Failure) -> String {
        let name = rest.prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        guard let first = name.first, !first.isDigit, rest[name.endIndex...].first == UInt8(ascii: "}") else {
            throw Failure(reason: "expected a variable's name and } after ${; write $${ for a plain ${")
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Editors end files with a newline that is no part of a secret.
    private func withoutNewline(_ text: String) -> String {
        text.hasSuffix("\n") || text.hasSuffix("\r\n") ? String(text.dropLast()) : text  // both are one character
    }
}
