import Access
import FleetRules
import HTTP

/// The fleet's endpoints, as their paths name them (DESIGN.md section 2, Surface).
enum FleetEndpoint {
    case channelAuth
    case userAuth
    case order(code: String)
    case orderAction(code: String, OrderAction.Kind)
    case route(id: String)
    case routeAction(id: String, RouteAction.Kind)
    case announce
    case acceptJob(id: String)
    case acceptRoute(id: String)
    case progress(id: String)
    case jobs
    case notifications
    case markRead
    case telemetry
    /// A phone comes or goes, by its FCM token.
    case fcmToken
    /// A phone comes or goes, by its token with either provider.
    case appDevice
    case devices
    case preferences
    /// Somebody is to be forgotten.
    case person(Role, id: String)
    case stats
    case push
    case lives
    case life(id: String)

    /// Nil for a path that leads nowhere.
    init?(_ path: [Substring]) {
        let rest = path.dropFirst(2).map(String.init)
        switch (path.first, path.dropFirst().first) {
        case ("pusher", "auth") where rest.isEmpty: self = .channelAuth
        case ("pusher", "user-auth") where rest.isEmpty: self = .userAuth
        case ("api", "admin"): self.init(admin: rest)
        case ("api", "driver"): self.init(driver: rest)
        case ("api", "customer"): self.init(person: rest)
        case ("api", "auth") where rest == ["fcm-token"]: self = .fcmToken
        case ("app-register-device", nil): self = .appDevice
        case ("api", "ops"): self.init(ops: rest)
        default: return nil
        }
    }

    private init?(admin path: [String]) {
        switch (path.count, path.first, path.last) {
        case (1, "notifications", _): self = .announce
        case (2, "orders", let code?): self = .order(code: code)
        case (2, "routes", let id?): self = .route(id: id)
        case (3, "orders", let word?):
            guard let action = Self.orderActions[word] else { return nil }
            self = .orderAction(code: path[1], action)
        case (3, "routes", let word?):
            guard let action = Self.routeActions[word] else { return nil }
            self = .routeAction(id: path[1], action)
        case (5, "routes", "remove") where path[2] == "drops": self = .routeAction(id: path[1], .removeDrop(path[3]))
        case (3, "people", let id?):
            guard let role = Self.phoneRoles.first(where: { $0.rawValue == path[1] }) else { return nil }
            self = .person(role, id: id)
        default: return nil
        }
    }

    private static let orderActions: [String: OrderAction.Kind] = [
        "assign-driver": .assign, "unassign": .unassign, "cancel-enhanced": .cancel, "remove-driver": .removeDriver,
    ]
    private static let routeActions: [String: RouteAction.Kind] = [
        "assign-driver": .assign, "unassign": .unassign, "cancel": .cancel,
    ]

    private init?(driver path: [String]) {
        switch (path.count, path.first, path.last) {
        case (1, "jobs", _): self = .jobs
        case (3, "jobs", "accept"): self = .acceptJob(id: path[1])
        case (3, "jobs", "progress"): self = .progress(id: path[1])
        case (3, "routes", "accept"): self = .acceptRoute(id: path[1])
        default: self.init(person: path)
        }
    }

    /// What drivers and customers have alike.
    private init?(person path: [String]) {
        switch path {
        case ["devices"]: self = .devices
        case ["preferences"]: self = .preferences
        case ["notifications"]: self = .notifications
        case ["notifications", "read"]: self = .markRead
        case ["notifications", "log"]: self = .telemetry
        default: return nil
        }
    }

    private init?(ops path: [String]) {
        switch (path.count, path.first, path.last) {
        case (1, "stats", _): self = .stats
        case (1, "push", _): self = .push
        case (1, "notifications", _): self = .lives
        case (2, "notifications", let id?): self = .life(id: id)
        default: return nil
        }
    }

    /// What may be done with it.
    var methods: [HTTPRequest.Method] {
        switch self {
        case .order, .route, .preferences: [.get, .put]
        case .progress: [.put]
        case .jobs, .notifications, .devices, .stats, .push, .lives, .life: [.get]
        case .fcmToken, .appDevice: [.post, .delete]
        case .person: [.delete]
        case .channelAuth, .userAuth, .orderAction, .routeAction, .announce, .acceptJob, .acceptRoute, .markRead, .telemetry:
            [.post]
        }
    }

    /// Who may see what the node does.
    static let opsRoles: [Role] = [.admin, .ops]

    /// Who has phones that are pushed to, and can be forgotten.
    static let phoneRoles: [Role] = [.driver, .customer]

    /// Who may come near a group of paths, whether or not there is anything at this one; nil: everybody with a token.
    /// `/api/auth/*` and `/app-*` are for no role as groups, only some of their paths are.
    static func roles(for path: [Substring]) -> [Role]? {
        switch (path.first, path.dropFirst().first) {
        case ("api", "admin"): [.admin]
        case ("api", "driver"): [.driver]
        case ("api", "customer"): [.customer]
        case ("api", "ops"): opsRoles
        case ("api", "auth") where path.dropFirst(2).elementsEqual(["fcm-token"]): phoneRoles
        case ("app-register-device", nil): phoneRoles
        default: nil
        }
    }
}
