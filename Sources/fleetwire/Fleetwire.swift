import ArgumentParser

/// The command line. Each command is in a file of its own.
@main
struct Fleetwire: ParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "fleetwire",
        abstract: "Realtime notification gateway for delivery fleets, compatible with Pusher Channels.",
        version: version,
        subcommands: [
            Serve.self, CheckConfig.self, MintToken.self, Send.self, PushTestCommand.self, Audit.self, Watch.self,
            Drive.self, TopCommand.self, BenchCommand.self, BackupCommand.self, TrustClock.self, MigrateCheck.self,
            Simulate.self,
        ])

    /// Runs if no command is given. Reports an error (exit status 64) instead of printing the help text.
    func run() throws {
        throw ValidationError(
            """
            Expected a command: serve, check-config, token, send, push-test, audit, watch, drive, top, bench, backup, \
            trust-clock, migrate-check or simulate
            """
        )
    }
}
