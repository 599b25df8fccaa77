import ArgumentParser
import FleetRules
import Gateway
import Push
import Threads

/// `fleetwire push-test`: one push to one phone, to see whether the configuration is right.
struct PushTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-test", abstract: "Send one push to a phone, with the configured credentials.",
        discussion: "Prints what the provider says; exit 0 when it has accepted, else 1.")

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "apns or fcm.")
    var provider: PushProvider

    @Option(help: "The phone's token, as its app registers it.")
    var token: String

    @Flag(help: "The token is of APNs' sandbox.")
    var sandbox = false

    func run() throws {
        let settings = try configuration.load()
        let token = try deviceToken()
        guard let provider = settings.pushProvider(of: token.lane) else {
            StandardError.print("fleetwire: push.\(provider.rawValue).enabled is false in \(configuration.file)")
            throw ExitCode.failure
        }
        let finding = PushTest.send(to: token, provider, now: Clock.unixMilliseconds)
        guard finding.isAccepted else {
            StandardError.print("fleetwire: \(finding.words)")
            throw ExitCode.failure
        }
        print(finding.words)
    }

    private func deviceToken() throws -> DeviceToken {
        do throws(RuleError) {
            return provider == .fcm ? try .fcm(token) : try .apns(token, sandbox ? .sandbox : .production)
        } catch {
            throw ValidationError("--token: \(error.text)")
        }
    }
}

extension PushProvider: ExpressibleByArgument {}
