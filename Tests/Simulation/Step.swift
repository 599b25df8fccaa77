import Access
import FanOut
import PusherProtocol

/// One step of a run.
///
/// Most steps are an input to the hub from one of the loops. The others also change loops.
enum Step {
    /// A loop applies `input`: the effects go to the mailboxes, and the loop drains its own.
    case input(SimulatedInput, on: Int)
    /// A connection opens in a free slot of its loop, unless its application is at its limit.
    case open(SocketID, app: AppIndex)
    /// A connection opens and subscribes at once.
    case arrive(SocketID, app: AppIndex, SubscriptionGrant)
    /// A connection closes and its loop removes it.
    case close(SocketID)
    /// A connection closes and another opens in its slot within the same turn.
    case replace(SocketID, by: SocketID, app: AppIndex)
    /// A loop performs at most `most` instructions of its mailbox.
    case drain(loop: Int, most: Int)
    /// A loop ends its turn: it flushes, then closes the connections marked for closing.
    case flush(loop: Int)
    /// All loops drain and flush until all published events are delivered.
    case settle
}

/// What the loops of a gateway tell the hub.
enum SimulatedInput {
    case hub(Hub.Input)
    case fleet(FleetInput)
}

extension Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .input(let input, let loop): "\(Self.text(of: input)) on loop \(loop)"
        case .open(let socket, let app): "opened(\(socket)) in app \(app)"
        case .arrive(let socket, let app, let grant):
            "opened(\(socket)) in app \(app), \(Self.text(of: .hub(.subscribe(socket, grant))))"
        case .close(let socket): "closed(\(socket))"
        case .replace(let socket, let successor, let app): "closed(\(socket)), opened(\(successor)) in app \(app)"
        case .drain(let loop, .max): "drain(\(loop))"
        case .drain(let loop, let most): "drain(\(loop), \(most))"
        case .flush(let loop): "flush(\(loop))"
        case .settle: "settle"
        }
    }

    private static func text(of input: SimulatedInput) -> String {
        switch input {
        case .hub(let input): text(of: input)
        case .fleet(let input): text(of: input)
        }
    }

    private static func text(of input: FleetInput) -> String {
        switch input {
        case .notify(let notifications, let app):
            let channels = notifications.flatMap(\.publications).map(\.channel.text).joined(separator: ", ")
            return "notify(\(channels)) in app \(app)"
        case .authorized(let socket, let identity, let device, let channel):
            return "authorized(\(socket), \(identity.key), '\(device)', \(channel?.text ?? "sign-in"))"
        case .assignment(let assignment, let app):
            let driver = assignment.driverID ?? "no driver"
            return "assignment(\(assignment.orderCode), \(assignment.reference), \(driver)) in app \(app)"
        case .restrict(let driverID, let restriction, let app):
            return "restrict(\(driverID), \(restriction.map { "\($0)" } ?? "lifted")) in app \(app)"
        case .hold(let notification, let app): return "hold(\(notification.id)) in app \(app)"
        }
    }

    private static func text(of input: Hub.Input) -> String {
        switch input {
        case .opened(let socket, let app): return "opened(\(socket)) in app \(app)"
        case .subscribe(let socket, let grant):
            return "subscribe(\(socket), \(grant.channel.text)\(grant.member.map { " as \($0.id)" } ?? ""))"
        case .unsubscribe(let socket, let channel): return "unsubscribe(\(socket), \(channel.text))"
        case .signin(let socket, let user):
            return "signin(\(socket), \(user.id), watching \(user.watchlist.prefix(6).joined(separator: ", ")))"
        case .clientEvent(let socket, _, let channel): return "clientEvent(\(socket), \(channel.text))"
        case .publish(let publications, let app, let sender):
            let channels = publications.map(\.channel.text).joined(separator: ", ")
            return "publish(\(channels)\(sender.map { ", except \($0)" } ?? "")) in app \(app)"
        case .terminate(let userID, let app): return "terminate(\(userID)) in app \(app)"
        case .closed(let socket): return "closed(\(socket))"
        case .endLegacy(let pattern, let app): return "endLegacy(\(pattern)) in app \(app)"
        case .remoteMemberJoined(let member, let channel, let app):
            return "remoteMemberJoined(\(member.id), \(channel.text)) in app \(app)"
        case .remoteMemberLeft(let userID, let channel, let app):
            return "remoteMemberLeft(\(userID), \(channel.text)) in app \(app)"
        case .remoteClientEvent(let publication, let app, let sender):
            return "remoteClientEvent(\(publication.channel.text), \(sender)) in app \(app)"
        case .remoteUser(let userID, let isOnline, let app): return "remoteUser(\(userID), \(isOnline)) in app \(app)"
        case .showWatchlist(let socket): return "showWatchlist(\(socket))"
        case .cache(_, _, let channel, let app): return "cache(\(channel.text)) in app \(app)"
        case .subscriptionCount(let count, let channel, let app):
            return "subscriptionCount(\(count), \(channel.text)) in app \(app)"
        case .forgetRemoteMembers(let channel, let app): return "forgetRemoteMembers(\(channel.text)) in app \(app)"
        case .tick(let now): return "tick(\(now))"
        }
    }
}
