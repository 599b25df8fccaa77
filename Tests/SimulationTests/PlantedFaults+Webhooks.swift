import FanOut
import PusherProtocol
import Simulation

/// What may go wrong with what backends are told.
extension Breakage {
    static let ofNotices = [
        Breakage("a channel is occupied twice", problem: "but it was so") {
            changed { notices in notices.first { $0.event.kind == .channelOccupied }.map { notices.append($0) } != nil }
        },
        Breakage("a channel is vacated twice", problem: "but it was so") {
            changed { notices in notices.first { $0.event.kind == .channelVacated }.map { notices.append($0) } != nil }
        },
        Breakage("a channel's end is not told", problem: "backends were told []") { lost(.channelVacated) },
        Breakage("a member comes with every connection", problem: "but he was there") {
            changed { notices in notices.first { $0.event.kind == .memberAdded }.map { notices.append($0) } != nil }
        },
        Breakage("a member's going is not told", problem: "but somebody is there") { lost(.memberRemoved) },
        Breakage("a client's event is not told", problem: "backends were told []") { lost(.clientEvent) },
        Breakage("a cache miss is not told", problem: "cache_miss") { lost(.cacheMiss) },
        Breakage("a count is not told", problem: "subscription_count") { lost(.subscriptionCount) },
        Breakage("two notices change places", problem: "but nobody is there") {
            changed { notices in
                guard notices.count > 1, notices[0].event.kind == .channelOccupied else { return false }
                notices.swapAt(0, 1)
                return true
            }
        },
        Breakage("another application's backend is told", problem: "backends were told [") {
            changed { notices in
                guard let first = notices.first, first.event.kind == .channelOccupied else { return false }
                notices[0] = AppWebhookEvent(app: first.app + 1, first.event)
                return true
            }
        },
    ]

    /// Breaks what is told once: as soon as `change` says that it could.
    private static func changed(_ change: @escaping (inout [AppWebhookEvent]) -> Bool) -> Fault {
        var fault = Fault()
        var isDone = false
        fault.webhookEvents = { notices in
            if !isDone { isDone = change(&notices) }
        }
        return fault
    }

    private static func lost(_ kind: WebhookKinds) -> Fault {
        var fault = Fault()
        fault.webhookEvents = { notices in notices.removeAll { $0.event.kind == kind } }
        return fault
    }
}
