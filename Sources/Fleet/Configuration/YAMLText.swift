import Yams

/// Parses YAML. Hostile input causes an error, not a crash or an endless loop.
struct YAMLText {
    /// The most aliases (`*name`) in a file. With nested aliases, a few lines expand to a tree of exponential size.
    /// Comparing such a tree as a map's key takes exponential time, and freeing a deep tree overflows the stack.
    /// Neither is possible with 20 aliases. Nesting without aliases is limited by the parser itself.
    static let aliasesMax = 20

    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Why the text is not valid YAML. Does not quote the invalid line, because it may contain a secret.
    struct Failure: Error {
        /// The line of the problem, counted from 1; nil if unknown.
        let line: Int?
        let problem: String
    }

    /// Parses the text.
    /// - Returns: the root node; nil if the text is empty or has only comments.
    func root() throws(Failure) -> Node? {
        let aliases = countAliases()
        guard aliases <= Self.aliasesMax else {
            let problem = "expected at most \(Self.aliasesMax) aliases such as *name, found \(aliases)"
            throw Failure(line: nil, problem: problem)
        }
        do {
            return try Yams.compose(yaml: text, .default, .default, .utf8)
        } catch let error as YamlError {
            throw failure(error)
        } catch {
            throw Failure(line: nil, problem: "not valid YAML")
        }
    }

    /// Counts everything that looks like an alias, even in strings and comments, so the count may be too high but never
    /// too low.
    private func countAliases() -> Int {
        var count = 0
        var (previous, last): (UInt8, UInt8) = (0, 0)
        for byte in text.utf8 {
            if last == UInt8(ascii: "*") && !previous.isLetterOrDigit && byte.isNameByte { count += 1 }
            (previous, last) = (last, byte)
        }
        return count
    }

    private func failure(_ error: YamlError) -> Failure {
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let prefix = context.map { "\($0.text) (line \($0.mark.line)), " } ?? ""
            return Failure(line: mark.line, problem: "not valid YAML: \(prefix)\(problem)")
        case .reader(let problem, let offset, _, _):
            return Failure(line: offset.map(line(at:)), problem: "not valid YAML: \(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map(QuotedValue.of).joined(separator: ", ")
            return Failure(line: context.mark.line, problem: "expected each key of a map once, found \(names) more than once")
        default:
            return Failure(line: nil, problem: "not valid YAML")
        }
    }

    private func line(at offset: Int) -> Int {
        1 + text.prefix(offset).count(where: \.isNewline)
    }
}

extension Node {
    /// The scalar as written, without YAML's types: `1001`, `007` and `yes` are strings. Nil for maps, lists, null and
    /// values with a tag.
    var text: String? {
        guard case .scalar(let scalar) = self, !isNothing, localTag == nil else { return nil }
        return scalar.string
    }

    /// Whether the node is YAML's null, written or implied by a key without a value.
    var isNothing: Bool {
        guard case .scalar(let scalar) = self, scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string) && localTag == nil
    }

    /// The kind of node, for errors. Does not show the content, which may be a secret.
    var kind: String {
        if let localTag { return "a value tagged \(localTag)" }
        switch self {
        case .scalar: return isNothing ? "nothing" : "a string"
        case .mapping: return "a map"
        case .sequence(let nodes): return nodes.isEmpty ? "an empty list" : "a list"
        case .alias: return "an alias"
        }
    }

    /// The scalar's application-specific tag, such as `!vault`, in quotes; nil if it has none. Such a tag asks the
    /// reader to process the scalar, which Fleetwire does not do, so the scalar as written is not the value.
    private var localTag: String? {
        guard case .scalar(let scalar) = self else { return nil }
        let tag = scalar.tag.description
        return tag.hasPrefix("!") && tag != "!" ? QuotedValue.of(tag) : nil
    }
}
