import Access
import ArgumentParser
import Bench
import Configuration
import Glibc
import JWT
import Primitives

/// `fleetwire bench`: measures how a gateway serves many connections.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Load a gateway, measure it, and judge the result.",
        discussion: """
            fanout: subscribers of few channels, and a backend that publishes with the app's secret. fleet: drivers on their \
            own channels, and a dispatcher who assigns orders to them; drivers confirm and accept, and in the end the orders \
            are cancelled. The gateway stores these orders, and real dashboards see them. Latency counts from the moment at \
            which a request was due. The app's secret, and the secret that signs tokens, are those of the configuration. \
            Ctrl-C ends the publishing, then the waiting for deliveries, then the cancelling. Exits with 0 if the run passes, else \
            with 1.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The gateway's URL, ws:// or wss:// (default: the configured address).")
    var url: String?

    @Option(help: "The app's id (default: the first configured app; for fleet, the fleet's app).")
    var app: String?

    @Option(help: "fanout or fleet.")
    var scenario = BenchPlan.Scenario.fanout

    @Option(help: "The number of connections, 1 to 1000000; for fleet, of drivers.")
    var connections = 100

    @Option(help: "The number of channels of fanout, 1 to 1000000.")
    var channels = 1

    @Option(help: "Events per second, of all channels together, 0.1 to 100000.")
    var rate = 10.0

    @Option(help: "The bytes of an event's data in fanout, 16 to 1000000.")
    var size = 200

    @Option(help: "How long to publish, such as 30s, 5m or 1h.")
    var duration = "10s"

    @Option(help: "New connections per second, 1 to 100000.")
    var connectRate = 500.0

    @Option(help: "The connections that send HTTP requests, 1 to 1000.")
    var requestConnections = 64

    @Option(help: "How long to wait for the last deliveries, such as 5s.")
    var drain = "5s"

    @Option(help: "The largest p99 of the delivery latency, in milliseconds, with which the run passes (default: any).")
    var p99Max: Int?

    @Flag(help: "Do not verify the gateway's certificate. (SSL_CERT_FILE names authorities to trust.)")
    var insecure = false

    @Flag(help: "Permit a gateway whose address is neither this machine's nor private.")
    var yes = false

    @Flag(help: "Print the report as JSON.")
    var json = false

    func run() throws {
        let plan = try plan()
        let settings = try configuration.load()
        let address = try address(settings)
        let credentials = try credentials(settings)
        try raiseDescriptorLimit(plan.descriptors)
        let isTerminal = isatty(STDERR_FILENO) == 1
        let report: BenchReport
        do {
            let show: ((String) -> Void)? = isTerminal ? { Self.show($0) } : nil
            let run = try BenchRun(plan, at: address, credentials, verifiesCertificate: !insecure, show: show)
            report = run.run()
        } catch { throw Self.failure("\(error)") }
        if isTerminal { Self.show("") }
        print(json ? String(decoding: report.json, as: UTF8.self) + "\n" : report.table, terminator: "")
        if !report.problems.isEmpty { throw ExitCode.failure }
    }

    private func plan() throws -> BenchPlan {
        func check<Number: Comparable>(_ name: String, _ number: Number, _ range: ClosedRange<Number>) throws -> Number {
            guard range.contains(number) else {
                throw ValidationError("Expected --\(name) to be from \(range.lowerBound) to \(range.upperBound), found \(number)")
            }
            return number
        }
        func seconds(_ name: String, _ text: String, _ range: ClosedRange<Int64>) throws -> Int {
            guard let seconds = MintToken.seconds(text), range.contains(seconds) else {
                throw ValidationError("Expected --\(name) such as 30s, 5m or 1h, at most \(range.upperBound) s, found \(text)")
            }
            return Int(seconds)
        }
        var plan = BenchPlan()
        plan.scenario = scenario
        plan.connections = try check("connections", connections, 1...1_000_000)
        plan.channels = try check("channels", channels, 1...1_000_000)
        plan.rate = try check("rate", rate, 0.1...100_000)
        plan.eventBytes = try check("size", size, 16...1_000_000)
        plan.seconds = try seconds("duration", duration, 1...86_400)
        plan.connectRate = try check("connect-rate", connectRate, 1...100_000)
        plan.requestConnections = try check("request-connections", requestConnections, 1...1_000)
        plan.drainSeconds = try seconds("drain", drain, 1...3_600)
        plan.p99MillisecondsMax = try p99Max.map { try check("p99-max", $0, 1...3_600_000) }
        guard plan.rate * Double(plan.seconds) <= Double(BenchPlan.eventsMax) else {
            throw ValidationError("Expected --rate times --duration to be at most \(BenchPlan.eventsMax) events")
        }
        return plan
    }

    /// The gateway's address, unless it is public and `--yes` is missing.
    private func address(_ settings: Settings) throws -> GatewayAddress {
        let address: GatewayAddress
        do {
            address = try GatewayAddress(url ?? settings.server.url("ws"))
        } catch { throw ValidationError("\(error)") }
        guard yes || address.isPrivate else {
            throw ValidationError(
                """
                \(address.host) is the public address \(address.address). A load test of another operator's server is an attack. \
                If this gateway is yours, add --yes.
                """)
        }
        return address
    }

    private func credentials(_ settings: Settings) throws -> BenchCredentials {
        let wanted = app ?? (scenario == .fleet && !settings.fleet.app.isEmpty ? settings.fleet.app : nil)
        guard let app = settings.apps.first(where: { wanted == nil || $0.id == wanted }) else {
            throw ValidationError("Expected --app to be the id of an app in \(configuration.file), found \(wanted ?? "")")
        }
        let issuer = settings.auth.jwt.first { !$0.secret.isEmpty }
        if scenario == .fleet, issuer == nil {
            throw Self.failure("\(configuration.file) has no auth.jwt.secret to sign the drivers' tokens with")
        }
        func token(_ identity: Identity) -> String {
            guard let issuer else { return "" }
            return TokenMint.token(
                for: identity, secret: issuer.secret, issuer: issuer.issuer, audience: issuer.audience,
                issuedAt: Int64(time(nil)), lifetimeSeconds: 2 * 86_400)
        }
        return BenchCredentials(
            appID: app.id, appKey: app.key, appSecret: app.secrets[0], adminToken: token(Identity(role: .admin, id: "bench")),
            driverToken: { token(Identity(role: .driver, id: $0)) })
    }

    private func raiseDescriptorLimit(_ count: Int) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur < rlim_t(count) else { return }
        guard limit.rlim_max >= rlim_t(count) else {
            throw Self.failure("\(count) descriptors are needed, and the limit is \(limit.rlim_max) (ulimit -Hn)")
        }
        limit.rlim_cur = rlim_t(count)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Replaces the line on the terminal.
    private static func show(_ line: String) {
        let bytes = Array("\r\u{1B}[K\(line)".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    private static func failure(_ text: String) -> ExitCode {
        StandardError.print("fleetwire: cannot run the load test: \(text.terminalEscaped)")
        return .failure
    }
}

extension BenchPlan.Scenario: ExpressibleByArgument {}
