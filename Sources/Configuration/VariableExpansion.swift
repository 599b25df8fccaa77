/// Expands references to the environment and to files, so that secrets need not be written into the configuration.
///
/// `${NAME}` anywhere in a value is replaced by the environment variable; `$${` is a literal `${`. A whole value
/// `file:PATH` is replaced by that file's content. Expanded text is not expanded again: a secret may contain anything.
struct VariableExpansion {
    /// All environment variables.
    let environment: [String: String]
    /// The directory that relative paths start from: empty, or ending in a slash.
    let directory: String
    let readFile: (_ path: String) throws(UnreadableFile) -> String

    /// Why a value could not be expanded. `reason` is worded as `ConfigurationError.problem`.
    struct Failure: Error, Equatable {
        let reason: String
    }

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

    /// A path of the configuration, relative to the directory of its file.
    func resolvePath(_ path: String) -> String {
        path.hasPrefix("/") ? path : directory + path
    }

    /// Replaces each `${NAME}`. Works on bytes: as a character, a brace and a following combining accent would be one.
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

    /// The name before the closing brace. The error quotes nothing: the text may be part of a secret.
    private func variableName(in rest: Substring.UTF8View) throws(Failure) -> String {
        let name = rest.prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        guard let first = name.first, !first.isDigit, rest[name.endIndex...].first == UInt8(ascii: "}") else {
            throw Failure(reason: "expected a variable's name and } after ${; write $${ for a plain ${")
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Editors end files with a newline, which is not part of a secret.
    private func withoutFinalNewline(_ text: String) -> String {
        text.hasSuffix("\n") || text.hasSuffix("\r\n") ? String(text.dropLast()) : text  // Both are one Character.
    }
}
