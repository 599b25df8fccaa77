import FanOut
import PusherProtocol

/// One step of a run.
///
/// Most are an input for the hub from one of the loops. Those that are not need a hand of the loop as well.
enum Step {
    /// A loop applies `input`: its effects go to the mailboxes, and the loop drains its own.
    case input(Hub.Input, on: Int)
    /// A connection opens on its loop, in a slot that is free there, unless its application has its fill.
    case open(SocketID, app: AppIndex)
    /// A connection opens and subscribes.
    case arrive(SocketID, app: AppIndex, SubscriptionGrant)
    /// A connection closes, and its loop forgets it.
    case close(SocketID)
    /// A connection closes and another takes its slot within the same turn.
    case replace(SocketID, by: SocketID, app: AppIndex)
    /// A loop carries out what its mailbox holds, but not more than `most` instructions.
    case drain(loop: Int, most: Int)
    /// A loop ends its turn: it sends what waits, and closes what has to go.
    case flush(loop: Int)
    /// All loops drain and flush: everything published has arrived.
    case settle
}

extension Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .input(let input, let loop): "\(Self.text(of: input)) on loop \(loop)"
        case .open(let socket, let app): "opened(\(socket)) in app \(app)"
        case .arrive(let socket, let app, let grant):
            "opened(\(socket)) in app \(app), \(Self.text(of: .subscribe(socket, grant)))"
        case .close(let socket): "closed(\(socket))"
        case .replace(let socket, let tenant, let app): "closed(\(socket)), opened(\(tenant)) in app \(app)"
        case .drain(let loop, .max): "drain(\(loop))"
        case .drain(let loop, let most): "drain(\(loop), \(most))"
        case .flush(let loop): "flush(\(loop))"
        case .settle: "settle"
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
        case .identify(let socket, let identity): return "vouch(\(socket), \(identity.key))"
        case .assignment(let holding, let app):
            return "holding(\(holding.code), \(holding.reference), \(holding.driverID ?? "nobody")) in app \(app)"
        case .tick(let now): return "tick(\(now))"
        }
    }
}
