import ArgumentParser

/// `fleetwire check-config`: what `serve` would say of the configuration, and phones of each event, without serving.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Check the configuration, and show what phones will: exit 0, or 78 with what is wrong.")

    @OptionGroup var configuration: ConfigurationOption

    func run() throws {
        let settings = try configuration.load()
        let apps = settings.apps.count == 1 ? "1 app" : "\(settings.apps.count) apps"
        for line in settings.notifications.samples(mode: settings.push.mode).flatMap(\.lines) { print(line) }
        print("\(configuration.file): ok (\(apps), \(settings.server.host):\(settings.server.port))")
    }
}
