import Yams

/// Where something stands: the file and line of a value, or the variable that holds it.
struct SourceLocation {
    var file: String
    var line: Int?
    /// The key's path; empty for a variable, whose name says it.
    var key = ""
}

/// One reading of the configuration, or of a file that is a part of it: what its sections share, and the problems they
/// meet.
final class SettingsReader {
    /// Beyond so many, the file is no configuration, and more would only bury the first.
    static let problemsMax = 100
    static let variablePrefix = "FLEETWIRE_"
    /// Variables that are ours and no setting: the command line takes the file's path from this one.
    static let otherVariables = ["FLEETWIRE_CONFIG"]

    let file: String
    let substitution: VariableExpansion
    /// True: a file that the configuration names. No variable overrides what it says.
    let isPart: Bool
    /// In the order of the file, then those of the environment, then those of the files that are parts of it.
    private(set) var problems: [ConfigurationError] = []
    /// Every key that was asked for: all there are.
    var keys = SpellingSuggestions()
    /// The lists among them, which no variable reaches into.
    var lists: [String] = []
    private(set) var variables = SpellingSuggestions()
    private var unknown: [SourceLocation] = []
    private var problemsOfParts: [ConfigurationError] = []
    private var claims: [String: String] = [:]

    init(file: String, substitution: VariableExpansion, isPart: Bool = false) {
        self.file = file
        self.substitution = substitution
        self.isPart = isPart
    }

    /// Reads the whole by `table`. Text that is no YAML counts as empty, so that the environment is checked as well.
    func read(_ yaml: String, table: (Section) -> Void) {
        var root: Node?
        do {
            root = try YAMLText(yaml).root()
        } catch {
            report(error.problem, at: place("", error.line))
        }
        Section(root, reader: self).finish(table)
        explainUnknownKeys()
        if !isPart { explainUnknownVariables() }
        let inOrder = problems.enumerated().sorted {
            ($0.element.line ?? .max, $0.offset) < ($1.element.line ?? .max, $1.offset)
        }
        problems = Array((inOrder.map(\.element) + problemsOfParts).prefix(Self.problemsMax))
    }

    /// Reads a file that the configuration names. What is relative in it starts from its own directory.
    func readPart(_ yaml: String, file: String, table: (Section) -> Void) {
        let inPart = VariableExpansion(
            environment: substitution.environment, directory: TextFile.directory(of: file), content: substitution.content)
        let part = SettingsReader(file: file, substitution: inPart, isPart: true)
        part.read(yaml, table: table)
        problemsOfParts += part.problems
    }

    // MARK: What sections report

    var isFull: Bool { problems.count >= Self.problemsMax }

    func place(_ path: String, _ line: Int?) -> SourceLocation {
        SourceLocation(file: file, line: line, key: path)
    }

    func report(_ problem: String, at place: SourceLocation) {
        guard !isFull else { return }
        problems.append(ConfigurationError(file: place.file, line: place.line, key: place.key, problem: problem))
    }

    /// Explained at the end, when every key has been asked for and the nearest one is known.
    func reportUnknown(_ place: SourceLocation) {
        if unknown.count < Self.problemsMax { unknown.append(place) }
    }

    /// The environment's value for a key. Asking makes the variable a known one.
    func variable(for path: String) -> (text: String, SourceLocation)? {
        guard !isPart else { return nil }
        let name = Self.variable(path)
        variables.insert(name)
        return substitution.environment[name].map { ($0, SourceLocation(file: name)) }
    }

    /// Who has claimed this value for the same purpose before, if anybody.
    func claim(_ value: String, as purpose: String, for place: SourceLocation) -> String? {
        let claim = "\(purpose) \(value)"
        if let other = claims[claim] { return other }
        claims[claim] = place.key
        return nil
    }

    // MARK: Unknown names

    private func explainUnknownKeys() {
        for place in unknown {
            report("unknown key" + suggestion(keys.nearest(to: place.key)), at: place)
        }
    }

    private func explainUnknownVariables() {
        let ours = substitution.environment.keys.filter { $0.hasPrefix(Self.variablePrefix) }
        let known = Set(variables.names + Self.otherVariables)
        for name in ours.sorted() where !known.contains(name) {
            let list = lists.first { name.hasPrefix(Self.variable($0)) }
            let hint = list.map { "; \($0) is a list, which only the file sets" }
            report("unknown variable" + (hint ?? suggestion(variables.nearest(to: name))), at: SourceLocation(file: name))
        }
    }

    private func suggestion(_ name: String?) -> String {
        name.map { "; did you mean \($0)?" } ?? ""
    }

    private static func variable(_ path: String) -> String {
        variablePrefix + path.uppercased().replacing(".", with: "_")
    }
}
