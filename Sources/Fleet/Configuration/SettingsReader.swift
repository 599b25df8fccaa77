import Yams

/// The file and line of a value, or the environment variable that contains it.
struct SourceLocation {
    /// The name of the file or of the environment variable.
    var file: String
    /// Nil for a variable, or if the line is unknown.
    var line: Int?
    /// The key's path; empty for a variable.
    var key = ""
}

/// Reads one file: the configuration, or a file that it includes. The file's sections share the reader and report
/// problems to it.
final class SettingsReader {
    /// The most problems that are reported. In a longer list, an operator would overlook the first ones.
    static let problemsMax = 100
    /// The most files that are noted: more than a configuration of the longest text can use.
    static let filesMax = 1_000
    /// The prefix of the environment variables that override keys.
    static let variablePrefix = "FLEETWIRE_"
    /// Known variables that have ``variablePrefix`` but do not override a key. The command line reads the configuration
    /// file's path from `FLEETWIRE_CONFIG`.
    static let otherVariables = ["FLEETWIRE_CONFIG"]

    let file: String
    let expansion: VariableExpansion
    /// False: this file is the configuration itself. True: the configuration includes it, for example as
    /// `notifications.file`, and environment variables do not override its values.
    let isIncluded: Bool
    /// After ``read(_:keys:)``: problems of the file by line, then those of environment variables, then those of
    /// included files.
    private(set) var problems: [ConfigurationError] = []
    /// The paths of all known keys: those that sections have looked up, whether present in the file or not.
    var keys = SpellingSuggestions()
    /// The paths of the known lists. Environment variables cannot override their elements.
    var lists: [String] = []
    /// The names of all known environment variables: those that sections have looked up, whether set or not.
    private(set) var variables = SpellingSuggestions()
    /// The files that values come from: each once, under the key that was read first.
    private(set) var files: [SettingsFile] = []
    private var unknown: [SourceLocation] = []
    private var includedProblems: [ConfigurationError] = []
    /// For each value that must be unique, the path of the key that has it. The dictionary's keys are purpose and value
    /// (see ``claim(_:as:at:)``).
    private var claims: [String: String] = [:]

    init(file: String, expansion: VariableExpansion, isIncluded: Bool = false) {
        self.file = file
        self.expansion = expansion
        self.isIncluded = isIncluded
    }

    /// Reads the file's keys. Text that is not YAML is reported and then treated as empty, so that environment
    /// variables are still checked.
    func read(_ yaml: String, keys: (Section) -> Void) {
        var root: Node?
        do {
            root = try YAMLText(yaml).root()
        } catch {
            report(error.problem, at: location("", error.line))
        }
        Section(root, reader: self).readKeys(keys)
        reportUnknownKeys()
        if !isIncluded { reportUnknownVariables() }
        let inOrder = problems.enumerated().sorted {
            ($0.element.line ?? .max, $0.offset) < ($1.element.line ?? .max, $1.offset)
        }
        problems = Array((inOrder.map(\.element) + includedProblems).prefix(Self.problemsMax))
    }

    /// Reads a file that the configuration names. Relative paths in it start from its own directory.
    func readIncluded(_ yaml: String, file: String, keys: (Section) -> Void) {
        let expansion = VariableExpansion(
            environment: self.expansion.environment, directory: TextFile.directory(of: file), readFile: self.expansion.readFile)
        let reader = SettingsReader(file: file, expansion: expansion, isIncluded: true)
        reader.read(yaml, keys: keys)
        includedProblems += reader.problems
        for source in reader.files { note(source) }
    }

    // MARK: Reports of sections

    /// True: there are ``problemsMax`` problems, and further ones are not recorded.
    var hasReachedProblemsMax: Bool { problems.count >= Self.problemsMax }

    func location(_ path: String, _ line: Int?) -> SourceLocation {
        SourceLocation(file: file, line: line, key: path)
    }

    func report(_ problem: String, at location: SourceLocation) {
        guard !hasReachedProblemsMax else { return }
        problems.append(ConfigurationError(file: location.file, line: location.line, key: location.key, problem: problem))
    }

    /// Records a file that a value comes from.
    func note(_ source: SettingsFile) {
        if let index = files.firstIndex(where: { $0.path == source.path }) {
            files[index].isSecret = files[index].isSecret || source.isSecret
        } else if files.count < Self.filesMax {
            files.append(source)
        }
    }

    /// Records an unknown key. It is reported at the end, when all known keys are recorded and the most similar of them
    /// can be suggested.
    func reportUnknown(_ location: SourceLocation) {
        if unknown.count < Self.problemsMax { unknown.append(location) }
    }

    /// The value of the environment variable that overrides a key; nil if it is not set. Records the variable as known.
    func variable(for path: String) -> (text: String, SourceLocation)? {
        guard !isIncluded else { return nil }
        let name = Self.variable(path)
        variables.insert(name)
        return expansion.environment[name].map { ($0, SourceLocation(file: name)) }
    }

    /// Records a value that must be unique.
    /// - Parameter purpose: a list and a key, such as `apps id`. Values of different purposes may be equal.
    /// - Returns: the path of the key that already has the value; nil if the value is unique so far.
    func claim(_ value: String, as purpose: String, at location: SourceLocation) -> String? {
        let claim = "\(purpose) \(value)"
        if let other = claims[claim] { return other }
        claims[claim] = location.key
        return nil
    }

    // MARK: Unknown names

    private func reportUnknownKeys() {
        for location in unknown {
            report("unknown key" + suggestion(keys.nearest(to: location.key)), at: location)
        }
    }

    private func reportUnknownVariables() {
        let prefixed = expansion.environment.keys.filter { $0.hasPrefix(Self.variablePrefix) }
        let known = Set(variables.names + Self.otherVariables)
        for name in prefixed.sorted() where !known.contains(name) {
            let list = lists.first { name.hasPrefix(Self.variable($0)) }
            let hint = list.map { "; \($0) is a list, which only the file can set" }
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
