import Access
import Fleet
import Observability
import Primitives

/// Counts and logs what commands have come to.
extension CommitPublisher {
    /// Counts and logs the outcome of a command.
    func record(_ reply: CommandReply, to command: IssuedCommand) {
        let outcome = reply.outcome
        count(outcome, reply, of: command.command)
        record(figuresOf: reply, command)
        log.info(
            "action",
            [
                "action": .text(command.command.name), "subject": .text(command.command.subject),
                "actor": .text(command.actorInLog), "outcome": .text(outcome), "from": .optional(reply.from),
                "to": .optional(reply.result?.audit?.after?.status),
                "driver": .optional(reply.driverID), "refusal": .optional(reply.refusal),
                "notifications": .number(reply.result?.notifications.count ?? 0),
                "correlation_id": .text(command.correlationID),
            ])
    }

    private func count(_ outcome: String, _ reply: CommandReply, of command: any Command) {
        guard command is any BatchCommand else { return counters.countAction(command.name, outcome: outcome) }
        counters.batches.countAction(command.name, outcome: outcome)
        switch (command, reply) {
        case (let command as ReportDelivery, .committed(let result)) where !result.isRepetition:
            counters.batches.count(command.report)
        case (is AcceptBatch, .rejected(let error)) where error.code == .batchTaken: counters.batches.lostRaces.add()
        default: break
        }
    }

    /// Counts a reported step of a job, an arrival by position, and what telemetry has without an offset. A repeated
    /// report is no transition.
    private func record(figuresOf reply: CommandReply, _ issued: IssuedCommand) {
        switch (issued.command, reply) {
        case (is ReportProgress, .committed(let result)), (is TripStep, .committed(let result)),
            (is CorrectArrival, .committed(let result)):
            guard let from = result.audit?.before?.status, let to = result.audit?.after?.status, from != to else { return }
            counters.transitions.add(to: .init(from: from, to: to, outcome: .done))
            count(transition: (from, to), issued)
        case (let telemetry as RecordTelemetry, .committed):
            counters.trips.withoutOffset.add(telemetry.events.count { $0.timestamp == nil })
        case (let command as ReportProgress, .rejected(let error)): record(error, of: command.report, issued)
        default: break
        }
    }

    /// Counts an arrival, or that one was taken back.
    private func count(transition: (from: String, to: String), _ issued: IssuedCommand) {
        switch (issued.command, transition.to) {
        case (let step as TripStep, JobStatus.arrived.rawValue):
            guard case .arrive(_, let isBetween) = step.kind else { return }
            counters.trips.arrivals.add(to: isBetween ? .between : .position)
        case (_, JobStatus.arrived.rawValue): counters.trips.arrivals.add(to: .driver)
        case (_, JobStatus.enRoute.rawValue) where transition.from == JobStatus.arrived.rawValue:
            counters.trips.corrections.add(to: issued.sender.role == .admin ? .admin : .driver)
        default: break
        }
    }

    /// Counts and logs that a driver may not report a step of a job.
    private func record(_ error: RuleError, of report: ProgressReport, _ command: IssuedCommand) {
        guard error.kind == .invalid || error.kind == .forbidden, let from = error.jobStatus else { return }
        counters.transitions.add(
            to: .init(from: from, to: report.step.rawValue, outcome: error.kind == .invalid ? .invalid : .forbidden))
        refusedTransitions.write {
            [
                "subject": .text(command.command.subject), "actor": .text(command.actor.key), "from": .text(from),
                "wanted": .text(report.step.rawValue), "correlation_id": .text(command.correlationID),
            ]
        }
    }
}

extension CommandReply {
    /// The outcome's name in metrics and in the log.
    fileprivate var outcome: String {
        switch self {
        case .committed(let result): result.isRepetition ? "repeated" : "done"
        case .deferred: "done"
        case .replayed: "replayed"
        case .rejected(let error): "\(error.kind)"
        case .unavailable: "unavailable"
        case .failed: "failed"
        }
    }

    var result: CommandResult? { if case .committed(let result) = self { result } else { nil } }

    /// The job's status before the command, if it concerns one.
    fileprivate var from: String? {
        if case .rejected(let error) = self { error.jobStatus } else { result?.audit?.before?.status }
    }

    /// The job's driver after the command or, if it has none, the one before.
    fileprivate var driverID: String? { result?.audit.flatMap { $0.after?.driverID ?? $0.before?.driverID } }

    /// The text that the client got instead of a result.
    fileprivate var refusal: String? {
        switch self {
        case .committed, .deferred, .replayed: nil
        case .rejected(let error): error.text
        case .unavailable(let text), .failed(let text): text
        }
    }
}
