import Access
import FanOut
import PusherProtocol
import Simulation

/// Faults of permissions and mirrors.
extension PlantedFault {
    static let ofAuthorization = [
        PlantedFault("the hub misses an identity", problem: " expected ") {
            missedOfFleet { if case .authorized = $0 { true } else { false } }
        },
        PlantedFault("the hub forgets the device", problem: " with the device ''; expected: ") {
            var fault = Fault()
            fault.fleetInput = { input in
                guard case .authorized(let socket, let identity, _, let channel) = input else { return input }
                return .authorized(socket, identity, device: "", channel: channel)
            }
            return fault
        },
        PlantedFault("the hub misses the authorization of a sign-in", problem: " with the device ''; expected: ") {
            missedOfFleet { if case .authorized(_, _, _, nil) = $0 { true } else { false } }
        },
        PlantedFault("the hub keeps another person's authorization", problem: "; expected: nobody") {
            var fault = Fault()
            fault.fleetInput = { input in
                guard case .authorized(let socket, let identity, let device, let channel?) = input, identity.id != "1",
                    channel.text.hasSuffix("driver-1") || channel.text.hasSuffix("customer-1")
                else { return input }
                let owner = Identity(role: channel.text.hasSuffix("driver-1") ? .driver : .customer, id: "1")
                return .authorized(socket, owner, device: device, channel: channel)
            }
            return fault
        },
        PlantedFault("the hub misses a job assignment", problem: " in app 0") {
            missedOfFleet { if case .assignment = $0 { true } else { false } }
        },
        PlantedFault("the hub records an assignment in another app", problem: " in app ") {
            var fault = Fault()
            fault.fleetInput = { if case .assignment(let assignment, _) = $0 { .assignment(assignment, app: 0) } else { $0 } }
            return fault
        },
        PlantedFault("the error of an ended subscription is duplicated", problem: " received the end of a subscription") {
            doubled(" has ended: the job")
        },
        PlantedFault("the error of an ended subscription is lost", problem: " expected ") { lost(" has ended: the job") },
        PlantedFault("an ended subscription still gets events", problem: " after the end of its subscription", sentAfterEnd),
        PlantedFault("an order keeps its former driver", problem: " subscriptions, expected: ") {
            var fault = Fault()
            fault.fleetInput = { input in
                guard case .assignment(let assignment, let app) = input, assignment.driverID == nil else { return input }
                let other = FleetAccess.JobAssignment(
                    orderCode: assignment.orderCode + "-", reference: assignment.reference, driverID: nil)
                return .assignment(other, app: app)
            }
            return fault
        },
        PlantedFault("a mirror gets nothing", problem: " expected ", unmirrored),
    ]

    /// Drops the inputs of the fleet for which `isMissed` returns true.
    private static func missedOfFleet(_ isMissed: @escaping (FleetInput) -> Bool) -> Fault {
        var fault = Fault()
        fault.fleetInput = { isMissed($0) ? nil : $0 }
        return fault
    }

    /// Sends the channel's last event once more to a connection whose subscription was ended.
    @Sendable private static func sentAfterEnd() -> Fault {
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

    /// Drops the second of the two instructions of a client event: the one for the channel's mirror.
    @Sendable private static func unmirrored() -> Fault {
        var fault = Fault()
        var clientEvents: [SocketID: ChannelSlot] = [:]
        fault.mailbox = { _, mailbox in
            mailbox.removeAll { instruction in
                guard case .relay(_, _, let channel, let sender, _, _) = instruction else { return false }
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
