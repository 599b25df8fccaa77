import ArgumentParser
import Configuration
import FleetGateway
import Glibc
import Threads

/// `--config FILE`, for every command that reads the configuration.
struct ConfigurationOption: ParsableArguments {
    @Option(
        name: .customLong("config"), help: "The configuration file (default: $FLEETWIRE_CONFIG, else config/fleetwire.yaml).")
    private var given: String?

    /// The path of the configuration file.
    var file: String { given ?? Environment.all["FLEETWIRE_CONFIG"] ?? "config/fleetwire.yaml" }

    /// Reads the settings from the file and the environment. If they are invalid, prints one line per problem and exits
    /// with status 78 (EX_CONFIG).
    func load() throws -> Settings { try Self.exitingOnErrors { () throws(ConfigurationErrors) in try read() } }

    private func read() throws(ConfigurationErrors) -> Settings { try read { _, _ in [] }.settings }

    /// - Parameter host: the address of the socket that the gateway has got, whatever address is configured; nil if none.
    fileprivate func read(
        listeningOn host: String? = nil, refusing isUnsafe: (Settings, [SettingsFile]) -> [ConfigurationError]
    ) throws(ConfigurationErrors) -> (settings: Settings, files: [SettingsFile]) {
        var (settings, files) = try Settings.loadWithFiles(file: file, environment: Environment.all)
        if let host { settings.server.host = host }
        let problems = settings.unusableKeys(file: file) + isUnsafe(settings, files)
        guard problems.isEmpty else { throw ConfigurationErrors(problems) }
        return (settings, files)
    }

    fileprivate static func exitingOnErrors<Result>(
        _ read: () throws(ConfigurationErrors) -> Result
    ) throws -> Result {
        do throws(ConfigurationErrors) {
            return try read()
        } catch {
            StandardError.print(error.description)
            throw ExitCode(EX_CONFIG)
        }
    }
}

/// `--config FILE` and `--production`, for the commands that refuse an unsafe configuration.
struct ServingOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOption

    @Flag(help: "Refuse what is unsafe in production, such as demo secrets, and limit each address.")
    var production = false

    /// Reads the settings as ``ConfigurationOption/load()``, and also exits if they are unsafe.
    /// - Parameter host: the address of the socket that the gateway has got from a service manager; nil if none. It is the one
    ///   that others can reach, so it takes the place of `server.host`.
    /// - Returns: the settings, and what `--production` advises against.
    func load(listeningOn host: String? = nil) throws -> (settings: Settings, advice: [ConfigurationError]) {
        try ConfigurationOption.exitingOnErrors { () throws(ConfigurationErrors) in try readAdvised(host) }
    }

    /// Reads the settings that the gateway serves with.
    func read(listeningOn host: String?) throws(ConfigurationErrors) -> Settings { try readAdvised(host).settings }

    private func readAdvised(_ host: String?) throws(ConfigurationErrors) -> (settings: Settings, advice: [ConfigurationError]) {
        let (now, file) = (Clock.unixMilliseconds(), configuration.file)
        var (settings, files) = try configuration.read(listeningOn: host) {
            $0.safetyErrors(inProduction: production, file: file, files: $1)
                + $0.legacyErrors(inProduction: production, at: now, file: file)
        }
        if production { settings.server.limitAddresses() }
        return (settings, production ? settings.productionAdvice(file: file, files: files) : [])
    }
}

/// The process's environment variables.
enum Environment {
    /// The values of all variables, by name.
    static var all: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return variables
    }
}

/// Standard error, where commands print their errors.
enum StandardError {
    static func print(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
