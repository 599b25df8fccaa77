import FanOut
import PusherProtocol
import Simulation

/// Faults of webhook events.
extension PlantedFault {
    static let ofNotices = [
        PlantedFault("channel_occupied is duplicated", problem: "but it was so") {
            changed { notices in notices.first { $0.event.kind == .channelOccupied }.map { notices.append($0) } != nil }
        },
        PlantedFault("channel_vacated is duplicated", problem: "but it was so") {
            changed { notices in notices.first { $0.event.kind == .channelVacated }.map { notices.append($0) } != nil }
        },
        PlantedFault("channel_vacated is lost", problem: "backends got []") { lost(.channelVacated) },
        PlantedFault("member_added is sent for every connection", problem: "but he was there") {
            changed { notices in notices.first { $0.event.kind == .memberAdded }.map { notices.append($0) } != nil }
        },
        PlantedFault("member_removed is lost", problem: "but it has members") { lost(.memberRemoved) },
        PlantedFault("client_event is lost", problem: "backends got []") { lost(.clientEvent) },
        PlantedFault("a cache_miss event is lost", problem: "cache_miss") { lost(.cacheMiss) },
        PlantedFault("subscription_count is lost in webhooks", problem: "subscription_count") { lost(.subscriptionCount) },
        PlantedFault("two webhook events swap", problem: "but it is vacant") {
            changed { notices in
                guard notices.count > 1, notices[0].event.kind == .channelOccupied else { return false }
                notices.swapAt(0, 1)
                return true
            }
        },
        PlantedFault("another application gets the webhook event", problem: "backends got [") {
            changed { notices in
                guard let first = notices.first, first.event.kind == .channelOccupied else { return false }
                notices[0] = AppWebhookEvent(app: first.app + 1, first.event)
                return true
            }
        },
    ]

    /// Breaks the webhook events once, as soon as `change` can.
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
