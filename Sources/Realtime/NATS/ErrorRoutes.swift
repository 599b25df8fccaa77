import CNats
import Threads

/// Finds the inbox that an error of a connection concerns.
///
/// cnats calls its error handler on a thread of its own, perhaps after the connection has been closed. So the handler's
/// closure is a number, not a reference.
enum ErrorRoutes {
    private static let routes = Lock<(last: UInt, inboxes: [UInt: Inbox])>((0, [:]))

    static func add(_ inbox: Inbox) -> UInt {
        routes.withLock { routes in
            routes.last += 1
            routes.inboxes[routes.last] = inbox
            return routes.last
        }
    }

    static func remove(_ route: UInt) { _ = routes.withLock { $0.inboxes.removeValue(forKey: route) } }

    static let handler: natsErrHandler = { connection, _, status, closure in
        let route = UInt(bitPattern: closure)
        guard let inbox = routes.withLock({ $0.inboxes[route] }) else { return }
        switch status {
        case NATS_SLOW_CONSUMER: inbox.noteSlow()
        case NATS_NOT_PERMITTED: inbox.noteRefusal(connection.flatMap(NATSSession.lastError) ?? "a subject is not permitted")
        default: break
        }
    }
}
