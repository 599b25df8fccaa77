import FanOut
import PusherProtocol
import Simulation

/// Faults of presence members, users and query results.
extension PlantedFault {
    // MARK: Members

    static let ofMembers = [
        PlantedFault("a new member gets its own member_added", problem: " for a present member") {
            altered { instruction in
                guard case .fanOut(let frame, let channel, .some) = instruction, frame.contains("member_added") else {
                    return instruction
                }
                return .fanOut(frame, channel, except: nil)
            }
        },
        PlantedFault("member_added is duplicated", problem: " for a present member") { doubled("member_added") },
        PlantedFault("member_removed is duplicated", problem: " for an absent member") { doubled("member_removed") },
        PlantedFault("member_removed is lost", problem: " as its message ") { lost("member_removed") },
        PlantedFault("member_added is lost", problem: " as its message ") { lost("member_added") },
        PlantedFault("a new member is missing in its own list", problem: "subscription_succeeded") {
            altered {
                guard case .sendPresence(let list, let socket) = $0 else { return $0 }
                return .sendPresence(PresenceList(list.channel, list.members.dropLast()), to: socket)
            }
        },
        PlantedFault("a member is listed twice", problem: ", which differs from count") {
            altered {
                guard case .sendPresence(let list, let socket) = $0 else { return $0 }
                return .sendPresence(PresenceList(list.channel, list.members + list.members), to: socket)
            }
        },
        PlantedFault("the cached event precedes the confirmation", problem: " as its message ") {
            once { mailbox in
                let index = mailbox.indices.dropLast().first { mailbox[$0].isSendPresence && mailbox[$0 + 1].isSend }
                guard let index else { return false }
                mailbox.swapAt(index, index + 1)
                return true
            }
        },
    ]

    // MARK: Users

    static let ofUsers = [
        PlantedFault("watchlist_events is duplicated", problem: ", which was known") { doubled("watchlist_events") },
        PlantedFault("watchlist_events is lost", problem: " as its message ") { lost("watchlist_events") },
        PlantedFault("the hub misses a signin", problem: "signin_success") {
            missed { if case .signin = $0 { true } else { false } }
        },
        PlantedFault("the hub misses a client event", problem: " expected ") {
            missed { if case .clientEvent = $0 { true } else { false } }
        },
        PlantedFault("the hub misses a termination", problem: " should have been closed") {
            missed { if case .terminate = $0 { true } else { false } }
        },
        PlantedFault("a close is lost", problem: " should have been closed") {
            var fault = Fault()
            fault.mailbox = { _, mailbox in mailbox.removeAll { if case .close = $0 { true } else { false } } }
            return fault
        },
        PlantedFault("a connection is closed with a code that permits reconnecting", problem: " for no reason") {
            altered { if case .close(let socket, _) = $0 { .close(socket, .restart) } else { $0 } }
        },
        PlantedFault("another user's connection is closed", problem: " for no reason") {
            var fault = Fault()
            var opened: [SocketID] = []
            fault.input = { input in
                if case .opened(let socket, _) = input { opened.append(socket) }
                return input
            }
            fault.mailbox = { loop, mailbox in
                mailbox = mailbox.map { instruction in
                    guard case .close(let socket, let code) = instruction else { return instruction }
                    let other = opened.last { $0.loop == loop && $0 != socket }
                    return .close(other ?? socket, code)
                }
            }
            return fault
        },
    ]

    // MARK: Queries

    static let ofQueries = [
        PlantedFault("the hub subscribes another connection", problem: " has loops ") {
            var fault = Fault()
            var opened: [SocketID: AppIndex] = [:]
            fault.input = { input in
                if case .opened(let socket, let app) = input { opened[socket] = app }
                if case .closed(let socket) = input { opened[socket] = nil }
                guard case .subscribe(let socket, let grant) = input, grant.member == nil else { return input }
                let others = opened.filter { $0.value == opened[socket] && $0.key.loop != socket.loop }.keys
                let other = others.min { $0.description < $1.description }
                return .subscribe(other ?? socket, grant)
            }
            return fault
        },
        PlantedFault("the hub joins another member", problem: " has users ", impostor),
        PlantedFault("the hub joins another member's connection", problem: " users, expected: ", impostor),
        PlantedFault("the hub misses a publish", problem: " caches nothing, expected: ") {
            missed { if case .publish = $0 { true } else { false } }
        },
        PlantedFault("the hub's clock stops", problem: " seconds, expected: ") {
            missed { if case .tick = $0 { true } else { false } }
        },
        PlantedFault("a count is lost", problem: "subscription_count") { lost("subscription_count") },
        PlantedFault("the hub opens a connection in another app", problem: " connections, expected: ") {
            var fault = Fault()
            fault.input = { if case .opened(let socket, _) = $0 { .opened(socket, app: 0) } else { $0 } }
            return fault
        },
    ]

    /// Joins every member's second connection as another member.
    @Sendable private static func impostor() -> Fault {
        var fault = Fault()
        var seen: Set<String> = []
        fault.input = { input in
            guard case .subscribe(let socket, let grant) = input, let member = grant.member,
                !seen.insert("\(member.id) on \(grant.channel.text)").inserted,
                let other = try? SubscriptionRequest(
                    channel: grant.channel.text, auth: "key:", channelData: #"{"user_id":"impostor"}"#
                ).grant(to: socket, key: "key", limits: Limits(), verify: { _, _ in true })
            else { return input }
            return .subscribe(socket, other)
        }
        return fault
    }

    /// Drops the inputs for which `isMissed` returns true, so that they do not reach the hub.
    static func missed(_ isMissed: @escaping (Hub.Input) -> Bool) -> Fault {
        var fault = Fault()
        fault.input = { isMissed($0) ? nil : $0 }
        return fault
    }

    /// Duplicates all messages that contain `word`.
    static func doubled(_ word: String) -> Fault {
        var fault = Fault()
        fault.mailbox = { _, mailbox in mailbox = mailbox.flatMap { $0.contains(word) ? [$0, $0] : [$0] } }
        return fault
    }

    /// Drops all messages that contain `word`.
    static func lost(_ word: String) -> Fault {
        var fault = Fault()
        fault.mailbox = { _, mailbox in mailbox.removeAll { $0.contains(word) } }
        return fault
    }
}

extension Instruction {
    fileprivate var isSendPresence: Bool { if case .sendPresence = self { true } else { false } }

    fileprivate var isSend: Bool { if case .send = self { true } else { false } }

    /// Whether the instruction sends a message that contains `word`.
    fileprivate func contains(_ word: String) -> Bool {
        switch self {
        case .fanOut(let frame, _, _), .send(let frame, _): frame.contains(word)
        default: false
        }
    }
}

extension Frame {
    func contains(_ word: String) -> Bool { String(decoding: bytes, as: UTF8.self).contains(word) }
}
