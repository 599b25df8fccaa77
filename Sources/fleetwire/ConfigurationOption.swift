import ArgumentParser
import Configuration
import Gateway
import Glibc

/// `--config FILE`, for every command that reads the configuration.
struct ConfigurationOption: ParsableArguments {
    @Option(
        name: .customLong("config"), help: "The configuration file (default: $FLEETWIRE_CONFIG, else config/fleetwire.yaml).")
    private var given: String?

    /// The path of the configuration file.
    var file: String { given ?? Environment.all["FLEETWIRE_CONFIG"] ?? "config/fleetwire.yaml" }

    /// Reads the settings from the file and the environment. If they are invalid, prints one line per problem and exits
    /// with status 78 (EX_CONFIG).
    func load() throws -> Settings {
        do throws(ConfigurationErrors) {
            let settings = try Settings.load(file: file, environment: Environment.all)
            if let (key, problem) = settings.keyError {
                throw ConfigurationErrors([ConfigurationError(file: file, key: key, problem: problem)])
            }
            return settings
        } catch {
            StandardError.print(error.description)
            throw ExitCode(EX_CONFIG)
        }
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
