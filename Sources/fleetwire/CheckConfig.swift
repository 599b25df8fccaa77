import ArgumentParser
import Configuration
import Fleet
import FleetGateway

/// `fleetwire check-config`: checks the configuration as `serve` does, and prints each entry of the notification
/// catalogue with sample data.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Check the configuration and print notifications with sample data.",
        discussion: """
            Exits with 0 if the configuration is valid; otherwise prints all errors and exits with 78. With --connect, exits \
            with 1 if a server cannot be used.
            """)

    @OptionGroup var options: ServingOptions

    @Flag(
        help: """
            Also connect to the servers that the configuration names, the store's database and the cluster's NATS, and name \
            accounts in the store that share a phone.
            """)
    var connect = false

    func run() throws {
        let (settings, advice) = try options.load()
        let hasServer = try connect && settings.fleet.enabled && Self.check(settings.store.address)
        let hasBus = try connect && Self.check(settings.cluster)
        let apps = settings.apps.count == 1 ? "1 app" : "\(settings.apps.count) apps"
        if settings.fleet.enabled {
            for line in settings.notifications.samples(mode: settings.push.mode).flatMap(\.lines) { print(line) }
        }
        if hasServer { print("store.url: connected to \(settings.store.address)") }
        if hasBus { print("cluster.nats: connected to \(settings.cluster.nats.joined(separator: ", "))") }
        for (key, other) in settings.equalSecrets {
            print("warning: equal_secrets: \(key) is that of \(other): who has it has the rights of both")
        }
        for each in advice { print("warning: production_advice: \(each.key): \(each.problem)") }
        if connect, settings.fleet.enabled { Self.report(settings.store.address.customersWithOnePhone()) }
        print("\(options.configuration.file): ok (\(apps), \(settings.server.host):\(settings.server.port))")
    }

    /// Names the accounts of customers that only the operator can join, as each start logs them.
    private static func report(_ duplicates: [(id: Int64, other: Int64)]) {
        guard !duplicates.isEmpty else { return }
        let accounts = duplicates.prefix(50).map { "\($0.id) and \($0.other)" }.joined(separator: ", ")
        print(
            "warning: customers_with_one_phone: \(duplicates.count) (\(accounts)): nobody can sign in to the first of each pair: "
                + "see docs/codes.md")
    }

    private static func check(_ cluster: Settings.Cluster) throws -> Bool {
        guard cluster.isEnabled else { return false }
        guard let problem = cluster.check() else { return true }
        StandardError.print("fleetwire: cluster.nats: cannot \(problem)")
        throw ExitCode.failure
    }

    private static func check(_ address: StoreAddress) throws -> Bool {
        do throws(StoreError) {
            return try address.check()
        } catch {
            StandardError.print("fleetwire: store.url: cannot \(error)")
            throw ExitCode.failure
        }
    }
}
