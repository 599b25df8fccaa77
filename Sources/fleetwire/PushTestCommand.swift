import ArgumentParser
import Fleet
import FleetGateway
import Primitives
import Push
import Threads

/// `fleetwire push-test`: sends one push to one device, to check the configuration.
struct PushTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-test", abstract: "Send one push to a device with the configured credentials.",
        discussion: "Prints the provider's response. Exits with 0 if the provider accepted the push, else with 1.")

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The push provider: apns or fcm.")
    var provider: PushProvider

    // Unconditional: the next argument is the token, even if it begins with a dash as an option does.
    @Option(parsing: .unconditional, help: "The device token, as the app registers it.")
    var token: String

    @Flag(help: "The token is for the APNs sandbox (development builds).")
    var sandbox = false

    func run() throws {
        let settings = try configuration.load()
        let token = try deviceToken()
        guard let provider = settings.pushProvider(of: token.lane) else {
            StandardError.print(
                "fleetwire: cannot send a push: push.\(provider.rawValue).enabled is false in \(configuration.file)")
            throw ExitCode.failure
        }
        let result = PushTest.send(to: token, provider, now: Clock.unixMilliseconds)
        guard result.isAccepted else {
            StandardError.print("fleetwire: \(result.text.terminalEscaped)")
            throw ExitCode.failure
        }
        print(result.text.terminalEscaped)
    }

    private func deviceToken() throws -> DeviceToken {
        do throws(RuleError) {
            switch provider {
            case .apns: return try .apns(token, sandbox ? .sandbox : .production)
            case .fcm: return try .fcm(token)
            }
        } catch {
            throw ValidationError("--token: \(error.text)")
        }
    }
}

extension PushProvider: ExpressibleByArgument {}
