import FanOut
import PusherProtocol
import Simulation

/// What may go wrong with members, users and what the hub remembers.
extension Breakage {
    // MARK: Members

    static let ofMembers = [
        Breakage("a newcomer hears of himself", problem: " who was there") {
            altered { instruction in
                guard case .fanOut(let frame, let channel, .some) = instruction, frame.says("member_added") else {
                    return instruction
                }
                return .fanOut(frame, channel, except: nil)
            }
        },
        Breakage("a member comes twice", problem: " who was there") { doubled("member_added") },
        Breakage("a member goes twice", problem: " who was not there") { doubled("member_removed") },
        Breakage("a member's going is not told", problem: " as its message ") { lost("member_removed") },
        Breakage("a member's coming is not told", problem: " as its message ") { lost("member_added") },
        Breakage("a newcomer is not told of himself", problem: "subscription_succeeded") {
            altered {
                guard case .sendPresence(let channel, let members, let socket) = $0 else { return $0 }
                return .sendPresence(channel, members.dropLast(), to: socket)
            }
        },
        Breakage("a member is listed twice", problem: ", who are not as many as was said") {
            altered {
                guard case .sendPresence(let channel, let members, let socket) = $0 else { return $0 }
                return .sendPresence(channel, members + members, to: socket)
            }
        },
        Breakage("a newcomer's cached event comes first", problem: " as its message ") {
            once { mailbox in
                let index = mailbox.indices.dropLast().first { mailbox[$0].isWelcome && mailbox[$0 + 1].isSend }
                guard let index else { return false }
                mailbox.swapAt(index, index + 1)
                return true
            }
        },
    ]

    // MARK: Users

    static let ofUsers = [
        Breakage("a watcher hears twice", problem: ", which it knew") { doubled("watchlist_events") },
        Breakage("a watcher hears nothing", problem: " as its message ") { lost("watchlist_events") },
        Breakage("the hub misses a signin", problem: "signin_success") {
            missed { if case .signin = $0 { true } else { false } }
        },
        Breakage("the hub misses a client event", problem: " expected ") {
            missed { if case .clientEvent = $0 { true } else { false } }
        },
        Breakage("the hub misses a termination", problem: " should have been closed") {
            missed { if case .terminate = $0 { true } else { false } }
        },
        Breakage("a close is lost", problem: " should have been closed") {
            var fault = Fault()
            fault.mailbox = { _, mailbox in mailbox.removeAll { if case .close = $0 { true } else { false } } }
            return fault
        },
        Breakage("a connection is closed with a code that lets it come back", problem: " for no reason") {
            altered { if case .close(let socket, _) = $0 { .close(socket, .restart) } else { $0 } }
        },
        Breakage("another's connection is closed", problem: " for no reason") {
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

    // MARK: Answers

    static let ofAnswers = [
        Breakage("the hub subscribes somebody else", problem: " has loops ") {
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
        Breakage("the hub takes a member for another", problem: " has users ", impostor),
        Breakage("the hub takes a member's connection for another's", problem: " users, expected: ", impostor),
        Breakage("the hub misses a publish", problem: " caches nothing, expected: ") {
            missed { if case .publish = $0 { true } else { false } }
        },
        Breakage("the hub's time stands still", problem: " seconds, expected: ") {
            missed { if case .tick = $0 { true } else { false } }
        },
        Breakage("a count is lost", problem: "subscription_count") { lost("subscription_count") },
        Breakage("the hub opens a connection in another app", problem: " connections, expected: ") {
            var fault = Fault()
            fault.input = { if case .opened(let socket, _) = $0 { .opened(socket, app: 0) } else { $0 } }
            return fault
        },
    ]

    /// Every member's second connection comes as somebody else.
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

    static func missed(_ isMissed: @escaping (Hub.Input) -> Bool) -> Fault {
        var fault = Fault()
        fault.input = { isMissed($0) ? nil : $0 }
        return fault
    }

    /// All messages of a kind come twice.
    static func doubled(_ word: String) -> Fault {
        var fault = Fault()
        fault.mailbox = { _, mailbox in mailbox = mailbox.flatMap { $0.says(word) ? [$0, $0] : [$0] } }
        return fault
    }

    /// All messages of a kind are lost.
    static func lost(_ word: String) -> Fault {
        var fault = Fault()
        fault.mailbox = { _, mailbox in mailbox.removeAll { $0.says(word) } }
        return fault
    }
}

extension Instruction {
    fileprivate var isWelcome: Bool { if case .sendPresence = self { true } else { false } }

    fileprivate var isSend: Bool { if case .send = self { true } else { false } }

    /// Whether it brings somebody a message with this word.
    fileprivate func says(_ word: String) -> Bool {
        switch self {
        case .fanOut(let frame, _, _), .send(let frame, _): frame.says(word)
        default: false
        }
    }
}

extension Frame {
    func says(_ word: String) -> Bool { String(decoding: bytes, as: UTF8.self).contains(word) }
}
