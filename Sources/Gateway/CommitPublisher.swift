import Access
import FanOut
import FleetRules
import JSON
import Observability
import PusherProtocol
import Server
import Store

/// Tells what the store has committed: the events to the channels, who has which job to the hub, the answer to whoever asked.
/// All of it happens after the commit and in its order, on the store's thread.
final class CommitPublisher: Sendable {
    private let hub: SharedHub
    private let app: AppIndex
    private let policy: ChannelPolicy
    private let pushService: PushService
    private let counters: FleetCounters
    private let log: Log

    init(
        hub: SharedHub, app: AppIndex, policy: ChannelPolicy, pushing: PushService, counters: FleetCounters, log: Log
    ) {
        self.pushService = pushing
        self.hub = hub
        self.app = app
        self.policy = policy
        self.counters = counters
        self.log = log
    }

    /// A batch of commands has been committed, or has failed.
    func publish(_ batch: [CommandReply]) {
        var lanes: Set<PushLane> = []
        for settled in batch {
            if case .settled(let settlement) = settled.outcome {
                hub.publish(
                    settlement.notifications.flatMap(publications), holding: settlement.order.map(Hub.JobAssignment.init),
                    app: app)
                lanes.formUnion(settlement.lanes)
                for device in settlement.removed { pushService.note(removed: device) }
            }
            let (answer, outcome) = Self.reply(settled.outcome)
            hub.post(
                .answer(answer, to: RequestID(rawValue: settled.request.sender.request)), to: settled.request.sender.loop)
            record(settled, outcome)
        }
        pushService.wake(lanes)
    }

    /// The answers to some enquiries.
    func publish(_ answers: [Store.QueryReply]) {
        for answer in answers {
            let answered: StoreAnswer =
                switch answer.outcome {
                case .found(let json): StoreAnswer(json: json)
                case .refused(let refusal): StoreAnswer(refusal.status, refusal.text)
                case .unavailable(let text): StoreAnswer(503, text)
                }
            hub.post(.answer(answered, to: RequestID(rawValue: answer.request.sender.request)), to: answer.request.sender.loop)
        }
    }

    /// What the hub has to know of an order that is open as the node starts.
    func restore(_ order: Order) { hub.publish([], holding: Hub.JobAssignment(order), app: app) }

    /// The event for its channel, and for the one that mirrors it.
    private func publications(_ notification: Notification) -> [Hub.Publication] {
        // What is stored has been checked; a limit that was lowered since is no reason to be silent.
        guard let channel = ChannelName(notification.channel, lengthMax: 256) else { return [] }
        var name = JSONWriter()
        name.string(notification.event)
        var data = JSONWriter(capacity: notification.data.count * 5 / 4)
        data.string(utf8: notification.data)
        return [channel, policy.mirror(of: channel)].compactMap { $0 }.map { channel in
            let frame = name.bytes.withUnsafeBytes { name in
                data.bytes.withUnsafeBytes { ServerMessage.event(name: name, channel: channel, data: $0) }
            }
            return Hub.Publication(channel: channel, frame: frame)
        }
    }

    private static func reply(_ outcome: CommandReply.Outcome) -> (StoreAnswer, outcome: String) {
        switch outcome {
        case .settled(let settlement):
            if let refusal = settlement.error { return (StoreAnswer(settlement.status, refusal.text), "\(refusal.kind)") }
            let answer = StoreAnswer(json: settlement.body, isReplay: settlement.isReplay)
            return (answer, settlement.isReplay ? "replayed" : "done")
        case .unavailable(let text): return (StoreAnswer(503, text), "unavailable")
        case .failed(let text): return (StoreAnswer(500, text), "failed")
        }
    }

    private func record(_ settled: CommandReply, _ outcome: String) {
        let command = settled.request.command
        counters.countAction(command.action.name, outcome: outcome)
        var notificationCount = 0
        if case .settled(let settlement) = settled.outcome {
            notificationCount = settlement.notifications.count
            counters.countNotifications(settlement.notifications.map(\.event))
            if case .progress = command.action, settlement.error?.kind == .invalid { counters.countFailedTransition() }
            if case .telemetry(let events) = command.action, settlement.status == 200, !settlement.isReplay {
                counters.countTelemetry(events.map(\.kind.rawValue))
            }
        }
        log.info(
            "action",
            [
                "action": .text(command.action.name), "subject": .text(command.action.subject), "actor": .text(command.actor.key),
                "outcome": .text(outcome), "notifications": .number(notificationCount),
                "correlation_id": .text(command.correlationID),
            ])
    }
}

extension Hub.JobAssignment {
    init(_ order: Order) {
        self.init(code: order.code, reference: order.reference, driverID: order.status.isFinal ? nil : order.driverID)
    }
}

extension Command.Action {
    /// What it is done to, for the log.
    fileprivate var subject: String {
        switch self {
        case .order(let deed): deed.code
        case .route(let deed): deed.id
        case .acceptJob(let id), .acceptRoute(let id), .progress(let id, _): id
        case .announce(let announcement): announcement.type
        case .telemetry(let events): "\(events.count) events"
        case .markRead, .updatePreferences: ""
        case .device(let deed): deed.token.masked
        case .erase(let role, let id): Identity(role: role, id: id).key
        }
    }
}
