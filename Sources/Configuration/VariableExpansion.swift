/// Replaces references in values by environment variables and files, so that secrets need not be in the configuration.
///
/// `${NAME}` anywhere in a value is replaced by the environment variable NAME; `$${` is a literal `${`. A whole value
/// `file:PATH` is replaced by that file's content. The result is not expanded again, so a secret may contain `${`.
struct VariableExpansion {
    /// All environment variables.
    let environment: [String: String]
    /// The directory that relative paths start from: empty, or ending in a slash.
    let directory: String
    let readFile: (_ path: String) throws(UnreadableFile) -> String

    /// Why a value could not be expanded.
    struct Failure: Error, Equatable {
        /// Becomes ``ConfigurationError/problem``.
        let reason: String
    }

    /// Expands a value as written in the configuration.
    func resolve(_ written: String) throws(Failure) -> String {
        guard written.hasPrefix("file:") else { return try expand(written) }
        let name = try expand(String(written.dropFirst("file:".count)))
        guard !name.isEmpty else { throw Failure(reason: "expected a path after file:") }
        let path = resolvePath(name)
        do {
            return withoutFinalNewline(try readFile(path))
        } catch {
            throw Failure(reason: "cannot read \(QuotedValue.of(path)): \(error.reason)")
        }
    }

    /// Makes a relative path of the configuration start from ``directory``.
    func resolvePath(_ path: String) -> String {
        path.hasPrefix("/") ? path : directory + path
    }

    /// Replaces each `${NAME}`. Works on UTF-8 bytes: as Swift characters, a brace and a combining accent after it are
    /// one character, which is not equal to the brace.
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

    /// The name between `${`, which precedes `rest`, and `}`. The error does not quote it: it may be part of a secret.
    private func variableName(in rest: Substring.UTF8View) throws(Failure) -> String {
        let name = rest.prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        guard let first = name.first, !first.isDigit, rest[name.endIndex...].first == UInt8(ascii: "}") else {
            throw Failure(reason: "expected a variable's name and } after ${; write $${ for a literal ${")
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Removes one newline from the end: editors add it, and it is not part of a secret.
    private func withoutFinalNewline(_ text: String) -> String {
        text.hasSuffix("\n") || text.hasSuffix("\r\n") ? String(text.dropLast()) : text  // Both are one Character.
    }
}
