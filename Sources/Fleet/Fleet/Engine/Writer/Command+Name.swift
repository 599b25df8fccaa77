extension Command.Action {
    /// The action's name in metrics and in the operator's log. It is also the action of the command's notifications in
    /// the notification log if the command writes no audit entry.
    package var name: String {
        switch self {
        case .order(let action): action.kind.name
        case .route(let action): action.kind.name
        case .acceptJob: "accept"
        case .acceptRoute: "route_accept"
        case .progress: "progress"
        case .correctArrival: "correct"
        case .trip(let step): if case .arrive = step.kind { "progress" } else { "trip_moment" }
        case .driverCard: "driver_update"
        case .announce: "announce"
        case .remind: "remind"
        case .telemetry: "telemetry"
        case .markRead: "read"
        case .device(let action): action.kind == .register ? "device_register" : "device_unregister"
        case .updatePreferences: "preferences"
        case .erase: "erase"
        case .account(let request): request.name
        case .batch(let request): request.name
        case .switchAvailability, .endAvailability: "availability"
        case .code(let request): request.name
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
