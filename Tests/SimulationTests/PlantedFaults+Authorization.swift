import FanOut
import PusherProtocol
import Simulation

/// What may go wrong with the fleet's channels, whose they are and what they mirror.
extension Breakage {
    static let ofRights = [
        Breakage("the hub misses a vouching", problem: " expected ") {
            missed { if case .identify = $0 { true } else { false } }
        },
        Breakage("the hub misses that a job changed hands", problem: " in app 0") {
            missed { if case .assignment = $0 { true } else { false } }
        },
        Breakage("the hub hears of jobs in another app", problem: " in app ") {
            var fault = Fault()
            fault.input = { if case .assignment(let holding, _) = $0 { .assignment(holding, app: 0) } else { $0 } }
            return fault
        },
        Breakage("an end is told twice", problem: " was told of an end that it had not or knew") {
            doubled(" has ended: the job")
        },
        Breakage("an end is not told", problem: " expected ") { lost(" has ended: the job") },
        Breakage("a loser hears on", problem: " after the end of its subscription", heardOn),
        Breakage("an order stays with whoever had it", problem: " subscriptions, expected: ") {
            var fault = Fault()
            fault.input = { input in
                guard case .assignment(let holding, let app) = input, holding.driverID == nil else { return input }
                return .assignment(.init(code: holding.code + "-", reference: holding.reference, driverID: nil), app: app)
            }
            return fault
        },
        Breakage("a twin hears nothing", problem: " expected ", unmirrored),
    ]

    /// Whoever was sent away gets the channel's last event once more.
    @Sendable private static func heardOn() -> Fault {
        var fault = Fault()
        var last: [String: Frame] = [:]
        fault.mailbox = { _, mailbox in
            mailbox = mailbox.flatMap { instruction in
                switch instruction {
                case .fanOut(let frame, _, _): if let channel = frame.channel { last[channel] = frame }
                case .send(let frame, let socket):
                    if let channel = frame.endedChannel, let event = last[channel] {
                        return [instruction, .send(event, to: socket)]
                    }
                default: break
                }
                return [instruction]
            }
        }
        return fault
    }

    /// Of a client's event for two channels the second is lost.
    @Sendable private static func unmirrored() -> Fault {
        var fault = Fault()
        var clientEvents: [SocketID: ChannelSlot] = [:]
        fault.mailbox = { _, mailbox in
            mailbox.removeAll { instruction in
                guard case .fanOut(let frame, let channel, let sender?) = instruction, frame.says("client-e") else {
                    return false
                }
                defer { clientEvents[sender] = channel }
                return clientEvents[sender].map { $0 != channel } ?? false
            }
        }
        return fault
    }
}

extension Frame {
    private func word(after beginning: String, before end: Character) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.firstRange(of: beginning).map { String(text[$0.upperBound...].prefix { $0 != end }) }
    }

    fileprivate var channel: String? { word(after: #""channel":""#, before: "\"") }

    fileprivate var endedChannel: String? { word(after: "Your subscription to ", before: " ") }
}
