import FanOut
import PusherProtocol
import Simulation

/// Faults of webhook events.
extension PlantedFault {
    static let ofWebhookEvents = [
        PlantedFault("channel_occupied is duplicated", problem: "but it is already occupied") {
            changed { events in events.first { $0.event.kind == .channelOccupied }.map { events.append($0) } != nil }
        },
        PlantedFault("channel_vacated is duplicated", problem: "but it is already vacant") {
            changed { events in events.first { $0.event.kind == .channelVacated }.map { events.append($0) } != nil }
        },
        PlantedFault("channel_vacated is lost", problem: "backends got []") { lost(.channelVacated) },
        PlantedFault("member_added is sent for every connection", problem: "but the member is present") {
            changed { events in events.first { $0.event.kind == .memberAdded }.map { events.append($0) } != nil }
        },
        PlantedFault("member_removed is lost", problem: "but it has members") { lost(.memberRemoved) },
        PlantedFault("client_event is lost", problem: "backends got []") { lost(.clientEvent) },
        PlantedFault("a cache_miss event is lost", problem: "cache_miss") { lost(.cacheMiss) },
        PlantedFault("subscription_count is lost in webhooks", problem: "subscription_count") { lost(.subscriptionCount) },
        PlantedFault("two webhook events swap", problem: "but it is vacant") {
            changed { events in
                guard events.count > 1, events[0].event.kind == .channelOccupied else { return false }
                events.swapAt(0, 1)
                return true
            }
        },
        PlantedFault("another application gets the webhook event", problem: "backends got [") {
            changed { events in
                guard let first = events.first, first.event.kind == .channelOccupied else { return false }
                events[0] = AppWebhookEvent(app: first.app + 1, first.event)
                return true
            }
        },
    ]

    /// Passes the webhook events of each input to `change` until `change` returns true: it has then made its only
    /// change.
    private static func changed(_ change: @escaping (inout [AppWebhookEvent]) -> Bool) -> Fault {
        var fault = Fault()
        var isDone = false
        fault.webhookEvents = { events in
            if !isDone { isDone = change(&events) }
        }
        return fault
    }

    private static func lost(_ kind: WebhookKinds) -> Fault {
        var fault = Fault()
        fault.webhookEvents = { events in events.removeAll { $0.event.kind == kind } }
        return fault
    }
}
