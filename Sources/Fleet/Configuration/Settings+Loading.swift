extension Settings {
    /// The settings of a configuration file, overridden by environment variables.
    ///
    /// - Parameters:
    ///   - file: The file's path. Relative paths in the file start from the file's directory.
    ///   - environment: All environment variables. An unknown one whose name starts with `FLEETWIRE_` is a problem.
    /// - Throws: All problems, not just the first.
    package static func load(
        file: String, environment: [String: String]
    ) throws(ConfigurationErrors) -> Settings {
        try loadWithFiles(file: file, environment: environment).settings
    }

    /// The settings as ``load(file:environment:)`` gives them, and the files that they come from.
    package static func loadWithFiles(
        file: String, environment: [String: String]
    ) throws(ConfigurationErrors) -> (settings: Settings, files: [SettingsFile]) {
        let yaml: String
        do {
            yaml = try TextFile.content(of: file)
        } catch {
            throw ConfigurationErrors([ConfigurationError(file: file, problem: "cannot be read: \(error.reason)")])
        }
        let (settings, files) = try parseWithFiles(yaml, file: file, environment: environment) { path throws(UnreadableFile) in
            try TextFile.content(of: path)
        }
        return (settings, files)
    }

    /// The settings of a configuration's text. Reads files only through `readFile`, and environment variables only from
    /// `environment`.
    ///
    /// - Parameters:
    ///   - yaml: The configuration's text. An empty text gives the defaults.
    ///   - file: The path that errors show as the file's name. Relative paths in the text start from its directory.
    ///   - environment: All environment variables. An unknown one whose name starts with `FLEETWIRE_` is a problem.
    ///   - readFile: Reads the files that the configuration names (`file:PATH`, `server.tls`, …). By default, it throws
    ///     as if no file existed.
    /// - Throws: All problems, not just the first.
    package static func parse(
        _ yaml: String, file: String = "fleetwire.yaml", environment: [String: String] = [:],
        readFile: @escaping (_ path: String) throws(UnreadableFile) -> String = UnreadableFile.missing
    ) throws(ConfigurationErrors) -> Settings {
        try parseWithFiles(yaml, file: file, environment: environment, readFile: readFile).settings
    }

    /// The settings as ``parse(_:file:environment:readFile:)`` gives them, and the files that they come from: those that the
    /// text names, and the text's own.
    package static func parseWithFiles(
        _ yaml: String, file: String, environment: [String: String],
        readFile: @escaping (_ path: String) throws(UnreadableFile) -> String
    ) throws(ConfigurationErrors) -> (settings: Settings, files: [SettingsFile]) {
        let expansion = VariableExpansion(
            environment: environment, directory: TextFile.directory(of: file), readFile: readFile)
        let reader = SettingsReader(file: file, expansion: expansion)
        var settings = Settings()
        reader.read(yaml) { settings.read($0) }
        guard reader.problems.isEmpty else { throw ConfigurationErrors(reader.problems) }
        reader.note(SettingsFile(key: "", path: file, isSecret: false))
        return (settings, reader.files)
    }
}
