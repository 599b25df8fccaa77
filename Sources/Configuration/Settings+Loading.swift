extension Settings {
    /// The settings of a configuration file, overridden by the environment.
    ///
    /// - Parameters:
    ///   - file: The file's path; relative paths inside the file start from its directory.
    ///   - environment: All variables. Those that start with `FLEETWIRE_` must be known.
    /// - Throws: Every problem found, not just the first.
    package static func load(
        file: String, environment: [String: String]
    ) throws(ConfigurationErrors) -> Settings {
        let yaml: String
        do {
            yaml = try TextFile.content(of: file)
        } catch {
            throw ConfigurationErrors([ConfigurationError(file: file, problem: "cannot be read: \(error.reason)")])
        }
        return try parse(yaml, file: file, environment: environment) { path throws(UnreadableFile) in
            try TextFile.content(of: path)
        }
    }

    /// The settings that a configuration text describes. Nothing is read but what is passed.
    ///
    /// - Parameters:
    ///   - yaml: The configuration's text; an empty one gives the defaults.
    ///   - file: The name that problems are reported under.
    ///   - environment: All variables. Those that start with `FLEETWIRE_` must be known.
    ///   - content: Reads what `file:PATH`, `server.tls`, `push` and `notifications` name; without it there are no such files.
    /// - Throws: Every problem found, not just the first.
    package static func parse(
        _ yaml: String, file: String = "fleetwire.yaml", environment: [String: String] = [:],
        content: @escaping (_ path: String) throws(UnreadableFile) -> String = UnreadableFile.always
    ) throws(ConfigurationErrors) -> Settings {
        let substitution = VariableExpansion(
            environment: environment, directory: TextFile.directory(of: file), content: content)
        let reader = SettingsReader(file: file, substitution: substitution)
        var settings = Settings()
        reader.read(yaml) { settings.read($0) }
        guard reader.problems.isEmpty else { throw ConfigurationErrors(reader.problems) }
        return settings
    }
}
