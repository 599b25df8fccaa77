import ArgumentParser
import Configuration
import FleetGateway
import Glibc
import Observability
import Server

/// `fleetwire serve`: runs the gateway.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run the gateway until SIGTERM or SIGINT.")

    @OptionGroup var options: ServingOptions

    @Option(help: "The TCP port to listen on (default: server.port; 0: any free port).")
    var port: UInt16?

    func run() throws {
        let variables = Environment.all
        let inherited = try Self.exitingOnError { () throws(StartError) in try Listener.inherited { variables[$0] } }
        var (settings, advice) = try options.load(listeningOn: inherited?.host)
        let undumped = settings.server.coreDumps ? nil : CoreDumps.forbid(hidingMemory: options.production)
        if let port { settings.server.port = Int(port) }
        let logWriter = LogWriter(format: settings.log.format == .json ? .json : .text)
        defer { logWriter.stop() }
        let log = Log(settings.log, logWriter)
        let service = try Self.exitingOnError { [settings] () throws(StartError) in
            try Gateway(settings: settings, inherited: inherited, log: log, logWriter: logWriter) {
                () throws(ConfigurationErrors) in try options.read(listeningOn: inherited?.host)
            }
        }
        for each in advice { log.warning("production_advice", ["key": .text(each.key), "hint": .text(each.problem)]) }
        if let undumped { log.warning("core_dumps_not_forbidden", ["reason": .text(undumped)]) }
        print("Fleetwire \(Fleetwire.version) listening on \(settings.server.urlHost):\(service.port)")
        fflush(nil)  // If standard output is a pipe, it is buffered.
        // The log has store_lost or store_damaged.
        guard service.runUntilSignalled() else { throw ExitCode.failure }
    }

    private static func exitingOnError<Result>(_ start: () throws(StartError) -> Result) throws -> Result {
        do throws(StartError) {
            return try start()
        } catch {
            let hint = error.isAddressInUse ? ". Stop the other instance, or set server.port." : ""
            StandardError.print("fleetwire: cannot \(error)\(hint)")
            throw error.isConfiguration ? ExitCode(EX_CONFIG) : ExitCode.failure
        }
    }
}

extension Log {
    fileprivate init(_ settings: Settings.Log, _ writer: LogWriter) {
        let level: Level =
            switch settings.level {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        self.init(level: level, format: settings.format == .json ? .json : .text) { writer.write($0) }
    }
}
