import Yams

/// Parses YAML text that may be hostile.
struct YAMLText {
    /// Aliases of aliases expand a short text to a tree of any size: comparing such a key takes exponential time, and
    /// freeing a deep tree overflows the stack. 20 aliases can do neither; the parser bounds plain nesting.
    static let aliasesMax = 20

    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Why a text is not valid YAML. Quotes no line of it: the line may hold a secret.
    struct Failure: Error {
        let line: Int?
        let problem: String
    }

    /// The root node; nil if there is nothing but comments.
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

    /// Counts everything that looks like an alias, in quotes and comments too: the count may be too high, never too low.
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
            return Failure(line: context.mark.line, problem: "expected each key of a map once, found more of \(names)")
        default:
            return Failure(line: nil, problem: "not valid YAML")
        }
    }

    private func line(at offset: Int) -> Int {
        1 + text.prefix(offset).count(where: \.isNewline)
    }
}

extension Node {
    /// A scalar's text as written: `1001`, `007` and `yes` are texts, too. Nil for other nodes, null and tagged values.
    var text: String? {
        guard case .scalar(let scalar) = self, !isNothing, localTag == nil else { return nil }
        return scalar.string
    }

    /// A key without a value, or YAML's null.
    var isNothing: Bool {
        guard case .scalar(let scalar) = self, scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string) && localTag == nil
    }

    /// The kind of node, for errors, without its content.
    var kind: String {
        if let localTag { return "a value tagged \(localTag)" }
        switch self {
        case .scalar: return isNothing ? "nothing" : "a text"
        case .mapping: return "a map"
        case .sequence(let nodes): return nodes.isEmpty ? "an empty list" : "a list"
        case .alias: return "an alias"
        }
    }

    /// A tag such as `!vault` requests processing that we do not support, so its text is not the value.
    private var localTag: String? {
        guard case .scalar(let scalar) = self else { return nil }
        let tag = scalar.tag.description
        return tag.hasPrefix("!") && tag != "!" ? QuotedValue.of(tag) : nil
    }
}
