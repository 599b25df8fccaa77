import ArgumentParser
import Configuration
import Fleet
import FleetGateway
import Glibc
import Primitives

/// `fleetwire audit`: prints the audit log of an order, a route, an account or a batch. It works whether or not a gateway is
/// running.
struct Audit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the audit log of an order, a route, an account or a batch, oldest entry first.")

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The order's code.")
    var order: String?

    @Option(help: "The route's id.")
    var route: String?

    @Option(help: "The _id of a driver's account, or the id of a customer who signs in by code.")
    var account: String?

    @Option(help: "The _id of a batch of orders.")
    var batch: String?

    func validate() throws {
        guard [order, route, account, batch].count(where: { $0 != nil }) == 1 else {
            throw ValidationError("Expected one of --order CODE, --route ID, --account ID and --batch ID")
        }
    }

    /// What the log is about, and how a message names it.
    private var subject: (AuditEntry.Subject, name: String) {
        if let order { return (.order(order), "order \(order)") }
        if let account { return (.account(account), "account \(account)") }
        if let batch { return (.batch(batch), "batch \(batch)") }
        return (.route(route ?? ""), "route \(route ?? "")")
    }

    func run() throws {
        let settings = try configuration.load()
        let (subject, name) = subject
        do throws(StoreError) {
            var count = 0
            try AuditTrail(settings.store.address).entries(of: subject) { entry in
                count += 1
                print(Self.line(entry))
            }
            if count == 0 {
                StandardError.print("fleetwire: no audit entries for \(name)")
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
        state.driverID.map { "\(state.status), driver \($0)" } ?? state.status
    }
}
