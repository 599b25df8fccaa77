/// A problem with the configuration, and its location. Never quotes a secret.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// The name of the file or of the environment variable that contains the invalid value.
    package var file: String
    /// The line in the file, counted from 1. Nil for a variable, and for a problem of the file as a whole.
    package var line: Int?
    /// The key's path, such as `apps[0].limits.event_bytes`. Empty for a variable, and for a problem of the file as a
    /// whole.
    package var key: String
    /// What is wrong: usually what was expected, and what was found instead.
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

/// All problems with the configuration: first those of the file, by line, then those of environment variables, then
/// those of files that the configuration includes, such as `notifications.file`.
package struct ConfigurationErrors: Error, Equatable, CustomStringConvertible {
    /// The problems; at least one.
    package let problems: [ConfigurationError]

    package init(_ problems: [ConfigurationError]) {
        precondition(!problems.isEmpty, "ConfigurationErrors was created without any problem")
        self.problems = problems
    }

    /// A line for each problem.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
