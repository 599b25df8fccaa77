import JSON
import Primitives
import PusherProtocol

extension DispatchPlanner {
    /// Tells drivers, a customer or everybody what an admin worded.
    package mutating func announce(_ announcement: Announcement, _ occasion: CommandContext) throws(RuleError) -> DispatchPlan {
        let members = try announcement.members()
        let event = EventNames.event(ofType: announcement.type)
        let drafts = try announcement.channels().map { EventDraft($0, event, verbatim: members) }
        let told = try makeNotifications(drafts, of: .fleet, to: .announcement, said: ["data"], occasion)
        var decision = DispatchPlan(
            answer: DispatchPlan.response("Notification sent", told.notifications, occasion.correlationID))
        decision.tell(told)
        decision.audit = occasion.audit("announce", .fleet, before: nil, after: nil, details: announcement.auditDetails)
        return decision
    }
}

extension Announcement {
    /// A driver who is named twice is told once.
    fileprivate func channels() throws(RuleError) -> [FleetChannel] {
        switch audience {
        case .customer(let id): return [.customer(id)]
        case .everyDriver: return [.drivers]
        case .drivers(let ids):
            guard !ids.isEmpty else { throw RuleError(.invalid, "to.drivers names nobody") }
            var named: Set<Identifier> = []
            return ids.filter { named.insert(Identifier($0)).inserted }.map { .driver($0) }
        }
    }

    /// The data's members as they were written, without the two that are ours to say.
    fileprivate func members() throws(RuleError) -> [UInt8] {
        var json = JSONWriter(capacity: data.count)
        do {
            try data.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in
                    guard !key.equals("notificationId"), !key.equals("correlationId") else { return }
                    if !json.bytes.isEmpty { json.raw(",") }
                    json.raw(key.raw)
                    json.raw(":")
                    json.raw(value.raw)
                }
            }
        } catch {
            throw RuleError(.invalid, "data must be a JSON object")
        }
        return json.bytes
    }

    /// What was sent to whom; the data itself is in the log.
    fileprivate var auditDetails: EventFields {
        let recipients: EventFields =
            switch audience {
            case .drivers(let ids): ["drivers": .texts(ids)]
            case .customer(let id): ["customer": .text(id)]
            case .everyDriver: ["channel": .text(FleetChannel.drivers.name)]
            }
        return ["type": .text(type)] + recipients
    }
}
