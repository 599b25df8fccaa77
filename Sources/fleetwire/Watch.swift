import ArgumentParser
import Configuration
import Fleet
import FleetGateway
import Glibc
import Primitives
import Threads

/// `fleetwire watch`: prints the timeline of a notification as it happens. It works whether or not a gateway is running.
struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the timeline of a notification as it happens.",
        discussion: """
            Prints each step with its time, who reported it, and the device: created, written, confirmed, push_queued, \
            received, action_accept, read and others. Ctrl-C stops it.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The notification's id: see notificationIds in the response to an action.")
    var notification: String

    @Flag(help: "Print the steps so far, and exit.")
    var once = false

    /// The pause between two looks at the store, in microseconds. The store does not tell one process what another commits.
    private static let pause: UInt32 = 200_000

    func run() throws {
        let settings = try configuration.load()
        let isKnown: Bool
        do throws(StoreError) {
            let trail = try NotificationTrail(settings.store.address)
            let first = try trail.read(notification, now: Clock.unixMilliseconds())
            if let report = first?.report { print(Self.summary(report)) }
            var printed = PrintedSteps()
            for step in printed.add(first?.steps ?? []) { print(Self.line(step)) }
            isKnown = first != nil
            while isKnown, !once {
                // The reader of a pipe must not wait for a full buffer.
                fflush(nil)
                usleep(Self.pause)
                let steps = try trail.read(notification, now: Clock.unixMilliseconds())?.steps ?? []
                for step in printed.add(steps) { print(Self.line(step)) }
            }
        } catch {
            StandardError.print("fleetwire: cannot \(error)")
            throw ExitCode.failure
        }
        guard isKnown else {
            StandardError.print("fleetwire: no notification \(notification.terminalEscaped) in \(settings.store.address)")
            throw ExitCode.failure
        }
    }

    /// The first line: event, channel, sequence number, present state, and when it expires.
    private static func summary(_ report: NotificationReport) -> String {
        let notification = report.logged.notification
        return [
            "\(notification.event) on \(notification.channel)", "number \(report.logged.sequence)", report.state.rawValue,
            "expires \(Timestamp.iso8601(milliseconds: notification.expiresAt))",
        ].joined(separator: ", ")
    }

    private static func line(_ step: NotificationStep) -> String {
        var parts = [Timestamp.iso8601(milliseconds: step.at), step.step]
        if !step.subject.isEmpty { parts.append("by \(step.subject.terminalEscaped)") }
        if let device = step.device, !device.isEmpty { parts.append("device \(device.terminalEscaped)") }
        if let detail = step.detail { parts.append(String(decoding: detail, as: UTF8.self).terminalEscaped) }
        return parts.joined(separator: "  ")
    }
}

/// Which steps of a timeline are printed. A step may be stored later than others that have a later time.
private struct PrintedSteps {
    /// How often a step with the same name, time, subject and device was printed.
    private var counts: [String: Int] = [:]

    /// The steps that are not printed yet.
    mutating func add(_ steps: [NotificationStep]) -> [NotificationStep] {
        var seen: [String: Int] = [:]
        return steps.filter { step in
            let key = "\(step.at) \(step.step) \(step.subject) \(step.device ?? "")"
            seen[key, default: 0] += 1
            guard seen[key, default: 0] > counts[key, default: 0] else { return false }
            counts[key, default: 0] += 1
            return true
        }
    }
}
