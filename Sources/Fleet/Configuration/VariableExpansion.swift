/// Replaces references in values by environment variables and file contents, so that secrets need not be in the
/// configuration file.
///
/// `${NAME}` anywhere in a value is replaced by the environment variable NAME; `$${` is a literal `${`. A value that is
/// `file:PATH` as a whole is replaced by the content of the file PATH, but `file://` is an origin. The result is not expanded
/// again, so a secret may contain `${`.
struct VariableExpansion {
    /// All environment variables.
    let environment: [String: String]
    /// The directory that relative paths start from, with its final slash; empty for the working directory.
    let directory: String
    let readFile: (_ path: String) throws(UnreadableFile) -> String

    /// Why a value could not be expanded.
    struct Failure: Error, Equatable {
        /// Becomes ``ConfigurationError/problem``.
        let reason: String
    }

    /// Expands a value as written in the configuration.
    func resolve(_ written: String) throws(Failure) -> String {
        guard written.hasPrefix("file:"), written != "file://" else { return try expand(written) }
        let name = try expand(String(written.dropFirst("file:".count)))
        guard !name.isEmpty else { throw Failure(reason: "expected a path after file:") }
        let path = resolvePath(name)
        do {
            return withoutFinalNewline(try readFile(path))
        } catch {
            throw Failure(reason: "cannot read \(QuotedValue.of(path)): \(error.reason)")
        }
    }

    /// The path of the file whose content ``resolve(_:)`` returns; nil for other values.
    func file(of written: String) -> String? {
        guard written.hasPrefix("file:") else { return nil }
        return (try? expand(String(written.dropFirst("file:".count)))).map(resolvePath)
    }

    /// Prepends ``directory`` to a relative path.
    func resolvePath(_ path: String) -> String {
        path.hasPrefix("/") ? path : directory + path
    }

    /// Replaces each `${NAME}`. Works on UTF-8 bytes, because Swift combines a brace and an accent that follows it into
    /// one Character, which is not equal to a brace.
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

    /// The variable's name at the start of `rest`, which follows `${`. The name ends before `}`. The error for an
    /// invalid name does not quote it, because the text may be part of a secret.
    private func variableName(in rest: Substring.UTF8View) throws(Failure) -> String {
        let name = rest.prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        guard let first = name.first, !first.isDigit, rest[name.endIndex...].first == UInt8(ascii: "}") else {
            throw Failure(reason: "expected a variable's name and } after ${; write $${ for a literal ${")
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Removes one newline from the end. Editors add this newline, so it is not part of the secret.
    private func withoutFinalNewline(_ text: String) -> String {
        // "\r\n" is one Character, so dropLast removes both bytes.
        text.hasSuffix("\n") || text.hasSuffix("\r\n") ? String(text.dropLast()) : text
    }
}
