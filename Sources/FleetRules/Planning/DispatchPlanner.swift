import JSON
import Primitives

/// The rules of the house: what a deed makes of an order or a route, whom it tells, and what it answers. Nothing is done
/// here: the decision says all, and whoever stores it does. A refused deed has changed nothing, because nothing came of it.
///
/// One chapter per kind of deed: `DispatchPlanner+Orders`, `+Routes`, `+Driving`, `+Announcements`. What events say stands in
/// ``OrderTransition`` and ``RouteTransition``.
package struct DispatchPlanner: Sendable {
    private var ids: ULIDSource

    package init(ids: ULIDSource = ULIDSource()) { self.ids = ids }

    /// Gives each event its id, in the order of telling, and says which of them reach phones. `said` are the fields this
    /// request brought: an event that is too large is the fault of one of them.
    mutating func makeNotifications(
        _ drafts: [EventDraft], of subject: AuditEntry.Subject, to scope: PushPolicy, said: [String], _ occasion: CommandContext
    ) throws(RuleError) -> Telling {
        for draft in drafts {
            try EventSize.check(draft, said: said, correlationID: occasion.correlationID, occasion.rules)
        }
        let notifications = drafts.map { makeNotification($0, of: subject, occasion) }
        return Telling(
            notifications: notifications, pushes: scope.pushes(of: Array(zip(drafts, notifications)), occasion.rules))
    }

    private mutating func makeNotification(
        _ draft: EventDraft, of subject: AuditEntry.Subject, _ occasion: CommandContext
    ) -> Notification {
        let id = ids.next(at: occasion.now)
        let rule = occasion.rules[draft.event]
        return Notification(
            id: id, channel: draft.channelName, event: draft.event,
            data: draft.data(id: id, correlationID: occasion.correlationID), createdAt: occasion.now,
            expiresAt: occasion.now + Int64(rule.lifetimeSeconds) * 1000,
            collapseKey: rule.collapsesByJob ? subject.collapseKey ?? id : id)
    }
}

extension AuditEntry.Subject {
    /// What the notifications of one order or route share; nil where there is neither.
    fileprivate var collapseKey: String? {
        switch self {
        case .order(let code): "order:\(code)"
        case .route(let id): "route:\(id)"
        case .fleet: nil
        }
    }
}

// MARK: What all chapters ask and write

extension CommandContext {
    /// Refuses when `If-Match` names another version; what is unknown has version 0.
    func checkVersion(_ version: Int, of noun: String) throws(RuleError) {
        guard let expectedVersion, expectedVersion != version else { return }
        throw RuleError(.conflict, "\(noun) has version \(version), not \(expectedVersion)")
    }

    func audit(
        _ action: String, _ subject: AuditEntry.Subject, before: AuditEntry.State?, after: AuditEntry.State?,
        reason: String? = nil, details: EventFields = [:]
    ) -> AuditEntry {
        AuditEntry(
            at: now, actor: actor.key, action: action, subject: subject, correlationID: correlationID, before: before,
            after: after, reason: reason, details: details.members.isEmpty ? nil : details.object)
    }
}

extension JobStatus {
    /// Refuses whatever comes after the end.
    func checkOpen(_ noun: String) throws(RuleError) {
        if isFinal { throw RuleError(.conflict, "\(noun) is \(rawValue)") }
    }
}

extension EventFields {
    var object: [UInt8] {
        var json = JSONWriter()
        json.raw("{")
        json.members(self)
        json.raw("}")
        return json.bytes
    }
}

extension String? {
    /// As bytes: Swift's == compares what Unicode holds equivalent, and of two drivers one may be called a Kelvin sign, one K.
    func isSame(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.utf8.elementsEqual(other.utf8)
    }
}

extension Order {
    var label: String { "Order \(code)" }
    var auditState: AuditEntry.State { AuditEntry.State(status: status, driverID: driverID) }

    /// Byte by byte, as ``isSame(as:)`` on texts: a name written in other code points is another name.
    func isSame(as other: Order) -> Bool { self == other && written == other.written }

    private var written: [UInt8] {
        var json = JSONWriter()
        write(to: &json)
        return json.bytes
    }
}

extension Route {
    var label: String { "Route \(id)" }
    var auditState: AuditEntry.State { AuditEntry.State(status: status, driverID: driverID) }

    func isSame(as other: Route) -> Bool { self == other && written == other.written }

    private var written: [UInt8] {
        var json = JSONWriter()
        write(to: &json)
        return json.bytes
    }
}
