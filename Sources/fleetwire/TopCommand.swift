import Access
import ArgumentParser
import Configuration
import Glibc
import JWT
import Primitives
import Threads
import Top

/// `fleetwire top`: shows a gateway's figures, once a second.
struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Show a gateway's connections, rates, push lanes and loops, once a second.",
        discussion: "Signs a token with auth.jwt.secret, unless --token-file is given. q or Ctrl-C ends it.")

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The gateway's URL (default: the configured address).")
    var url: String?

    @Option(help: "A file with a token of role ops or admin, read each time. With --url, no configuration is needed.")
    var tokenFile: String?

    @Flag(help: "Print one screen as plain text, measured over one second, and exit.")
    var once = false

    func run() throws {
        let settings = url == nil || tokenFile == nil ? try configuration.load() : nil
        let target = url ?? settings?.server.url("http")
        guard let target, target.hasPrefix("http://") || target.hasPrefix("https://") else {
            throw ValidationError("Expected --url such as http://127.0.0.1:6001, found \(target ?? "")")
        }
        let server = target.utf8.last == UInt8(ascii: "/") ? String(target.dropLast()) : target
        if once {
            try printOnce(server, settings)
        } else {
            guard isatty(STDOUT_FILENO) == 1 else { throw ValidationError("Standard output is no terminal: use --once") }
            watch(server, settings)
        }
    }

    /// Two readings one second apart.
    private func printOnce(_ server: String, _ settings: Settings?) throws {
        let watcher = GatewayWatcher(server)
        var samples: [Sample] = []
        while samples.count < 2 {
            if !samples.isEmpty { usleep(1_000_000) }
            do {
                watcher.start(token: try token(settings))
            } catch {
                StandardError.print("fleetwire: cannot read \(tokenFile ?? ""): \(error.reason)")
                throw ExitCode.failure
            }
            var reading: GatewayWatcher.Reading?
            while reading == nil { reading = watcher.proceed(waiting: 100, now: Clock.monotonicMilliseconds) }
            switch reading {
            case .sample(let sample): samples.append(sample)
            case .problem(let problem):
                StandardError.print("fleetwire: the gateway at \(server) \(problem.terminalEscaped)")
                throw ExitCode.failure
            case nil: break
            }
        }
        let screen = Screen(target: server, time: Self.time, current: samples[1], earlier: samples[0])
        for line in screen.lines(width: 100, height: .max) { print(line.terminalEscaped) }
    }

    private func watch(_ server: String, _ settings: Settings?) {
        let terminal = Terminal()
        defer { terminal.restore() }
        let watcher = GatewayWatcher(server)
        var screen = Screen(target: server, time: Self.time)
        var isReading = false
        var next = Clock.monotonicMilliseconds()
        func show() {
            let size = terminal.size
            terminal.show(screen.lines(width: size.width, height: size.height).map(\.terminalEscaped))
        }
        show()
        while true {
            let now = Clock.monotonicMilliseconds()
            if !isReading, now >= next {
                next = now + 1_000
                do {
                    watcher.start(token: try token(settings))
                    isReading = true
                } catch { screen.problem = "Cannot read \(tokenFile ?? ""): \(error.reason)" }
                screen.time = Self.time
                show()
            }
            if isReading, let reading = watcher.proceed(waiting: 50, now: Clock.monotonicMilliseconds) {
                isReading = false
                screen.take(reading)
                show()
            }
            // While the gateway's answer is awaited, `proceed` waits.
            let pause = isReading ? 0 : max(0, min(1_000, next - Clock.monotonicMilliseconds()))
            switch terminal.wait(milliseconds: Int32(pause)) {
            case .quit: return
            case .resized: show()
            case .nothing: break
            }
        }
    }

    /// The token for the next reading; empty if there is none: the gateway then answers only this machine.
    private func token(_ settings: Settings?) throws(UnreadableFile) -> String {
        if let tokenFile {
            return try TextFile.content(of: tokenFile).split(whereSeparator: \.isWhitespace).joined()
        }
        guard let issuer = settings?.auth.jwt.first(where: { !$0.secret.isEmpty }) else { return "" }
        return TokenMint.token(
            for: Identity(role: .ops, id: "top"), secret: issuer.secret, issuer: issuer.issuer, audience: issuer.audience,
            issuedAt: Int64(Glibc.time(nil)), lifetimeSeconds: 60)
    }

    /// The time of day, UTC: the log has it, too.
    private static var time: String { Timestamp.iso8601(milliseconds: Clock.unixMilliseconds()).prefix(19) + "Z" }
}
