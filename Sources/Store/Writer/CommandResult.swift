import FleetRules

/// What a command came to: the answer, and what has to be told once it is committed.
package struct CommandResult: Equatable, Sendable {
    /// The command's kind, for counters: `assign`, `route_cancel`, `telemetry`.
    package let action: String
    /// 200, 400, 403, 404 or 409.
    package let status: Int
    /// The answer's JSON; of a refusal only its text: the envelope depends on who asked where.
    package let body: [UInt8]
    package let error: RuleError?
    /// The stored answer to the same request.
    package let isReplay: Bool
    /// In the order of telling.
    package let notifications: [Notification]
    /// The order's new state; nil when none changed.
    package let order: Order?
    /// The push lanes that have more to do now.
    package internal(set) var lanes: Set<PushLane> = []
    /// The phones that are nobody's any more, or somebody else's.
    package internal(set) var removed: [RemovedDevice] = []

    static func done(
        _ deed: Command.Action, body: [UInt8], notifications: [Notification] = [], order: Order? = nil
    ) -> CommandResult {
        CommandResult(
            action: deed.name, status: 200, body: body, error: nil, isReplay: false, notifications: notifications, order: order)
    }

    static func rejected(_ deed: Command.Action, _ refusal: RuleError) -> CommandResult {
        CommandResult(
            action: deed.name, status: refusal.status, body: Array(refusal.text.utf8), error: refusal, isReplay: false,
            notifications: [], order: nil)
    }

    static func replayed(_ deed: Command.Action, status: Int, body: [UInt8]) -> CommandResult {
        CommandResult(action: deed.name, status: status, body: body, error: nil, isReplay: true, notifications: [], order: nil)
    }
}

extension RuleError {
    /// The HTTP status that says it.
    package var status: Int {
        switch kind {
        case .invalid: 400
        case .forbidden: 403
        case .unknown: 404
        case .conflict: 409
        }
    }
}

extension Command.Action {
    /// For counters, and for the log where nothing better names it.
    package var name: String {
        switch self {
        case .order(let deed): deed.kind.rawValue
        case .route(let deed): deed.kind.name
        case .acceptJob: "accept"
        case .acceptRoute: "route_accept"
        case .progress: "progress"
        case .announce: "announce"
        case .telemetry: "telemetry"
        case .markRead: "read"
        case .device(let deed): deed.kind == .register ? "device_register" : "device_unregister"
        case .updatePreferences: "preferences"
        case .erase: "erase"
        }
    }
}

extension RouteAction.Kind {
    fileprivate var name: String {
        switch self {
        case .assign: "route_assign"
        case .unassign: "route_unassign"
        case .cancel: "route_cancel"
        case .removeDrop: "remove_drop"
        case .update: "route_update"
        }
    }
}
