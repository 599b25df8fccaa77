/// A problem with the configuration: its location, and what was expected. Never quotes a secret.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// The configuration file, or the environment variable that holds the value.
    package var file: String
    /// The line in that file, from 1; nil for a variable, or for the file as a whole.
    package var line: Int?
    /// The key's path, such as `apps[0].limits.event_bytes`; empty for a variable, or for the file as a whole.
    package var key: String
    /// What was expected, and what was found instead.
    package var problem: String

    package init(file: String, line: Int? = nil, key: String = "", problem: String) {
        self.file = file
        self.line = line
        self.key = key
        self.problem = problem
    }

    /// For example `fleetwire.yaml:7: server.port: expected an integer from 0 to 65535, found "abc"`.
    package var description: String {
        let location = line.map { "\(file):\($0)" } ?? file
        return (key.isEmpty ? [location, problem] : [location, key, problem]).joined(separator: ": ")
    }
}

/// All problems with the configuration, in the order of the file.
package struct ConfigurationErrors: Error, Equatable, CustomStringConvertible {
    /// The problems; at least one.
    package let problems: [ConfigurationError]

    package init(_ problems: [ConfigurationError]) {
        precondition(!problems.isEmpty, "ConfigurationErrors needs at least one problem")
        self.problems = problems
    }

    /// A line for each problem.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
