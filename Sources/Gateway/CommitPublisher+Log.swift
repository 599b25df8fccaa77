import Access
import Fleet
import Observability
import Primitives

/// Counts and logs what commands have come to.
extension CommitPublisher {
    /// Counts and logs the outcome of a command.
    func record(_ reply: CommandReply, to command: Command) {
        let outcome = reply.outcome
        count(outcome, reply, of: command.action)
        record(figuresOf: reply, command)
        log.info(
            "action",
            [
                "action": .text(command.action.name), "subject": .text(command.action.subject),
                "actor": .text(command.actorInLog), "outcome": .text(outcome), "from": .optional(reply.from),
                "to": .optional(reply.result?.audit?.after?.status),
                "driver": .optional(reply.driverID), "refusal": .optional(reply.refusal),
                "notifications": .number(reply.result?.notifications.count ?? 0),
                "correlation_id": .text(command.correlationID),
            ])
    }

    private func count(_ outcome: String, _ reply: CommandReply, of action: Command.Action) {
        guard case .batch(let request) = action else { return counters.countAction(action.name, outcome: outcome) }
        counters.countBatchAction(request.name, outcome: outcome)
        switch (request, reply) {
        case (.report(let report, _), .committed(let result)) where !result.isRepetition: counters.count(report)
        case (.accept, .rejected(let error)) where error.code == .batchTaken: counters.countLostRace()
        default: break
        }
    }

    /// Counts a reported step of a job, an arrival by position, and what telemetry has without an offset. A repeated
    /// report is no transition.
    private func record(figuresOf reply: CommandReply, _ command: Command) {
        switch (command.action, reply) {
        case (.progress, .committed(let result)), (.trip, .committed(let result)), (.correctArrival, .committed(let result)):
            guard let from = result.audit?.before?.status, let to = result.audit?.after?.status, from != to else { return }
            counters.count(FleetCounters.Transition(from: from, to: to, outcome: .done))
            count(transition: (from, to), command)
        case (.telemetry(let events), .committed):
            counters.countWithoutOffset(events.count { $0.timestamp == nil })
        case (.progress(_, let report), .rejected(let error)): record(error, of: report, command)
        default: break
        }
    }

    /// Counts an arrival, or that one was taken back.
    private func count(transition: (from: String, to: String), _ command: Command) {
        switch (command.action, transition.to) {
        case (.trip(let step), JobStatus.arrived.rawValue):
            guard case .arrive(_, let isBetween) = step.kind else { return }
            counters.countArrival(isBetween ? .between : .position)
        case (_, JobStatus.arrived.rawValue): counters.countArrival(.driver)
        case (_, JobStatus.enRoute.rawValue) where transition.from == JobStatus.arrived.rawValue:
            counters.countCorrection(byAdmin: command.actor.role == .admin)
        default: break
        }
    }

    /// Counts and logs that a driver may not report a step of a job.
    private func record(_ error: RuleError, of report: ProgressReport, _ command: Command) {
        guard error.kind == .invalid || error.kind == .forbidden, let from = error.jobStatus else { return }
        counters.count(
            FleetCounters.Transition(
                from: from, to: report.step.rawValue, outcome: error.kind == .invalid ? .invalid : .forbidden))
        refusedTransitions.write {
            [
                "subject": .text(command.action.subject), "actor": .text(command.actor.key), "from": .text(from),
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
        case .committed, .replayed: nil
        case .rejected(let error): error.text
        case .unavailable(let text), .failed(let text): text
        }
    }
}

extension Command {
    /// Who acts, for the log.
    fileprivate var actorInLog: String {
        switch action {
        case .trip: DispatchPlanner.actor
        case .code(.delivered): "system:codes"
        case .code(let request) where !request.hasActor: "anybody"
        default: actor.key
        }
    }
}

extension Command.Action {
    /// The entity that the action changes, for the log.
    fileprivate var subject: String {
        switch self {
        case .order(let action): action.code
        case .route(let action): action.id
        case .acceptJob(let id), .acceptRoute(let id), .progress(let id, _): id
        case .correctArrival(let code, _): code
        case .trip(let step): step.orderCode
        case .driverCard(let id, _): Identity(role: .driver, id: id).key
        case .announce(let announcement): announcement.type
        case .remind(let id): id
        case .telemetry(let events): "\(events.count) events"
        case .markRead, .updatePreferences: ""
        case .device(let registration): registration.token.masked
        case .erase(let role, let id): Identity(role: role, id: id).key
        case .account(let request): Identity(role: .driver, id: request.driverID).key
        case .batch(let request): request.subject
        case .switchAvailability(let isOnline): isOnline ? "online" : "offline"
        case .endAvailability(let id): id.text
        case .code(let request): request.subjectInLog
        }
    }
}
