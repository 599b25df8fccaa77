import ArgumentParser
import Configuration
import FleetRules
import Glibc
import Observability
import Primitives
import Store

/// `fleetwire audit`: prints the audit log of an order or a route. It works whether or not a gateway is running.
struct Audit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the audit log of an order or a route, oldest entry first.")

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The order's code.")
    var order: String?

    @Option(help: "The route's id.")
    var route: String?

    func validate() throws {
        guard (order == nil) != (route == nil) else { throw ValidationError("Expected either --order CODE or --route ID") }
    }

    func run() throws {
        let settings = try configuration.load()
        let subject: AuditEntry.Subject = order.map { .order($0) } ?? .route(route ?? "")
        do throws(StoreError) {
            var count = 0
            try AuditTrail(path: settings.store.path).entries(of: subject) { entry in
                count += 1
                print(Self.line(entry))
            }
            if count == 0 {
                StandardError.print("fleetwire: no audit entries for \(order.map { "order \($0)" } ?? "route \(route ?? "")")")
            }
        } catch {
            StandardError.print("fleetwire: cannot \(error)")
            throw ExitCode.failure
        }
    }

    /// The entry as one line of output: time, actor, action, states before and after, reason, details, correlation id.
    private static func line(_ entry: AuditEntry) -> String {
        var parts = [Timestamp.iso8601(milliseconds: entry.at), entry.actor.terminalEscaped, entry.action]
        if let after = entry.after {
            parts.append("\(entry.before.map(text) ?? "new") -> \(text(after))")
        }
        if let reason = entry.reason { parts.append("reason \"\(reason.terminalEscaped)\"") }
        if let details = entry.details { parts.append(String(decoding: details, as: UTF8.self).terminalEscaped) }
        parts.append("(\(entry.correlationID))")
        return parts.joined(separator: "  ")
    }

    private static func text(_ state: AuditEntry.State) -> String {
        state.driverID.map { "\(state.status.rawValue), driver \($0)" } ?? state.status.rawValue
    }
}
