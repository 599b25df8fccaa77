import ArgumentParser

/// The command line. What each command does is in its own file.
@main
struct Fleetwire: ParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "fleetwire",
        abstract: "A realtime notification gateway for delivery fleets; speaks the Pusher Channels protocol.",
        version: version,
        subcommands: [
            Serve.self, CheckConfig.self, MintToken.self, Send.self, PushTestCommand.self, Audit.self, Simulate.self,
        ])

    /// Without a command there is nothing to do, which is a mistake (64), not a wish for help.
    func run() throws { throw ValidationError("Name a command: serve, check-config, token, send, push-test, audit or simulate") }
}
