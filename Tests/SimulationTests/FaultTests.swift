import FanOut
import PusherProtocol
import Simulation
import Testing

/// Proves that the checkers work: they find each planted fault and report the expected problem.
@Suite struct FaultTests {
    @Test(arguments: PlantedFault.all) func plantedFaultIsFound(_ planted: PlantedFault) throws {
        var others: [String] = []
        for seed in UInt64(1)...100 {
            guard let found = violation(seed: seed, planted.fault()) else { continue }
            if found.problem.contains(planted.problem) { return }
            others.append(found.description)
        }
        Issue.record("not found; other violations: \(others.prefix(5))")
    }

    @Test func violationIsReproducible() throws {
        for planted in PlantedFault.all {
            #expect(violation(seed: 3, planted.fault()) == violation(seed: 3, planted.fault()))
        }
    }

    @Test func violationNamesSeedStepAndProblem() throws {
        var fault = Fault()
        fault.mailbox = { _, mailbox in mailbox.removeAll { if case .send = $0 { true } else { false } } }
        let violation = try #require(self.violation(seed: 1, fault))
        let form = /seed 1, step \d+, .+: connection \d+\.\d+ received .+, expected .+/
        #expect(violation.description.wholeMatch(of: form) != nil, "\(violation)")
        #expect(violation.description == "seed 1, step \(violation.step), \(violation.failedStep): \(violation.problem)")
    }

    private func violation(seed: UInt64, _ fault: Fault) -> Violation? {
        do {
            _ = try simulate(seed: seed, steps: 300, fault: fault)
            return nil
        } catch {
            return error
        }
    }
}

/// A fault, and a part of the problem that the checkers must report.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let problem: String
    let fault: @Sendable () -> Fault

    init(_ name: String, problem: String, _ fault: @escaping @Sendable () -> Fault) {
        testDescription = name
        self.problem = problem
        self.fault = fault
    }

    static let all = inMailboxes + atTheHub + atTheSockets + ofMembers + ofUsers + ofQueries + ofAuthorization + ofWebhookEvents

    // MARK: Mailboxes

    private static let inMailboxes = [
        PlantedFault("an event is lost, others follow", problem: " as its message ") {
            once { mailbox in
                guard let index = mailbox.firstIndex(where: \.isFanOut) else { return false }
                mailbox.remove(at: index)
                return true
            }
        },
        PlantedFault("the last event is lost", problem: " is missing") {
            var fault = Fault()
            fault.mailbox = { _, mailbox in mailbox.removeAll(where: \.isFanOut) }
            return fault
        },
        PlantedFault("a reply is lost", problem: "subscription_succeeded") {
            once { mailbox in
                guard let index = mailbox.firstIndex(where: \.isSend) else { return false }
                mailbox.remove(at: index)
                return true
            }
        },
        PlantedFault("an event is duplicated", problem: "expected nothing more") {
            once { mailbox in
                guard let index = mailbox.firstIndex(where: \.isFanOut) else { return false }
                mailbox.insert(mailbox[index], at: index)
                return true
            }
        },
        PlantedFault("two events swap", problem: " as its message ") {
            once { mailbox in
                let pair = mailbox.indices.dropLast().first { mailbox[$0].isFanOut && mailbox[$0 + 1].isFanOut }
                guard let pair else { return false }
                mailbox.swapAt(pair, pair + 1)
                return true
            }
        },
        PlantedFault("a new subscriber gets an older event", problem: "subscription_succeeded", { once(moveJoin) }),
        PlantedFault("a reused slot gets its former channel's event", problem: "subscription_succeeded", repeatedInSlot),
        PlantedFault("the sender is not excluded", problem: " as its message ") {
            altered { if case .fanOut(let frame, let channel, .some) = $0 { .fanOut(frame, channel, except: nil) } else { $0 } }
        },
        PlantedFault("an event goes to another channel", problem: " as its message ") {
            altered {
                if case .fanOut(let frame, let channel, let sender) = $0 {
                    .fanOut(frame, channel ^ 1, except: sender)
                } else {
                    $0
                }
            }
        },
    ]

    /// Passes the mailboxes to `change` at each drain until `change` returns true: it has then made its only change.
    static func once(_ change: @escaping (inout [Instruction]) -> Bool) -> Fault {
        var fault = Fault()
        var isDone = false
        fault.mailbox = { _, mailbox in
            if !isDone { isDone = change(&mailbox) }
        }
        return fault
    }

    /// Replaces each instruction by the result of `change`.
    static func altered(_ change: @escaping (Instruction) -> Instruction) -> Fault {
        var fault = Fault()
        fault.mailbox = { _, mailbox in mailbox = mailbox.map(change) }
        return fault
    }

    /// Moves a join before an event of the same channel.
    private static func moveJoin(of mailbox: inout [Instruction]) -> Bool {
        for (index, instruction) in mailbox.enumerated() {
            guard case .join(let channel, _) = instruction else { continue }
            let event = mailbox[..<index].lastIndex {
                if case .fanOut(_, channel, _) = $0 { true } else { false }
            }
            guard let event else { continue }
            mailbox.remove(at: index)
            mailbox.insert(instruction, at: event)
            return true
        }
        return false
    }

    /// Repeats the last event of a channel slot when a connection joins the slot after another connection has left it.
    @Sendable private static func repeatedInSlot() -> Fault {
        var fault = Fault()
        var events: [ChannelSlot: Instruction] = [:]
        var left: Set<ChannelSlot> = []
        fault.mailbox = { loop, mailbox in
            guard loop == 0 else { return }
            mailbox = mailbox.flatMap { instruction in
                switch instruction {
                case .fanOut(_, let channel, _): events[channel] = instruction
                case .leave(let channel, _): left.insert(channel)
                case .join(let channel, _):
                    if left.contains(channel), let event = events[channel] { return [instruction, event] }
                default: break
                }
                return [instruction]
            }
        }
        return fault
    }

    // MARK: The hub

    private static let atTheHub = [
        PlantedFault("the hub misses a subscribe", problem: " subscriptions, expected: ") {
            var fault = Fault()
            fault.input = { if case .subscribe = $0 { nil } else { $0 } }
            return fault
        },
        PlantedFault("the hub misses an unsubscribe", problem: " subscriptions, expected: ") {
            var fault = Fault()
            fault.input = { if case .unsubscribe = $0 { nil } else { $0 } }
            return fault
        },
        PlantedFault("the hub creates an extra channel", problem: " channels, expected: ") {
            var fault = Fault()
            var seen: Set<String> = []
            fault.input = { input in
                // Only if the loop already has a subscriber of the channel: then no other check than that of the number
                // of channels can find the fault.
                guard case .subscribe(let socket, let grant) = input,
                    !seen.insert("\(grant.channel.text) on \(socket.loop)").inserted,
                    let other = try? SubscriptionRequest(channel: "other").grant(
                        to: socket, key: "", limits: Limits(), verify: { _, _ in false })
                else { return input }
                return .subscribe(socket, other)
            }
            return fault
        },
        PlantedFault("the hub uses the wrong app", problem: " as its message ") {
            var fault = Fault()
            fault.input = { input in
                guard case .publish(let publications, _, let sender) = input else { return input }
                return .publish(publications, app: 0, except: sender)
            }
            return fault
        },
    ]

    // MARK: Sockets

    private static let atTheSockets = [
        PlantedFault("one write is split in two", problem: " was written to twice in one flush") {
            var fault = Fault()
            fault.write = { socket, frame in frame.halves.map { (socket, $0) } }
            return fault
        },
        PlantedFault("a closed connection is written to", problem: " was written to after its close") {
            var fault = Fault()
            var closed: [SocketID] = []
            fault.input = { input in
                if case .closed(let socket) = input { closed.append(socket) }
                return input
            }
            fault.write = { socket, frame in
                // The connection that closed last may still be closing.
                let stale = closed.dropLast().last { $0.loop == socket.loop }
                return [(socket, frame)] + (stale.map { [($0, frame)] } ?? [])
            }
            return fault
        },
        PlantedFault("a loop writes to another's connection", problem: " is none of its connections") {
            var fault = Fault()
            var last: SocketID?
            fault.write = { socket, frame in
                defer { last = socket }
                return [(last ?? socket, frame)]
            }
            return fault
        },
    ]
}

extension Instruction {
    fileprivate var isFanOut: Bool { if case .fanOut = self { true } else { false } }
    fileprivate var isSend: Bool { if case .send = self { true } else { false } }
}

extension Frame {
    /// The two short messages that were joined into this frame; otherwise the frame itself.
    fileprivate var halves: [Frame] {
        let end = 2 + Int(bytes[1])
        guard bytes[1] < 126, bytes.count > end + 1, bytes[end + 1] < 126, bytes.count == end + 2 + Int(bytes[end + 1])
        else { return [self] }
        return [Frame(text: Array(bytes[2..<end])), Frame(text: Array(bytes[(end + 2)...]))]
    }
}
