import ArgumentParser

/// `fleetwire check-config`: checks the configuration as `serve` does, and prints each entry of the notification
/// catalogue with sample data.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Check the configuration and print notifications with sample data.",
        discussion: "Exits with 0 if the configuration is valid; otherwise prints all errors and exits with 78.")

    @OptionGroup var options: ServingOptions

    func run() throws {
        let settings = try options.load()
        let apps = settings.apps.count == 1 ? "1 app" : "\(settings.apps.count) apps"
        for line in settings.notifications.samples(mode: settings.push.mode).flatMap(\.lines) { print(line) }
        print("\(options.configuration.file): ok (\(apps), \(settings.server.host):\(settings.server.port))")
    }
}
