import FanOut
import PusherProtocol

/// Notifications that an earlier process committed and did not publish, because it was killed. Each is published as soon
/// as its channel has a subscriber, and the newer notifications of that channel behind it: without them, the subscriber
/// would take an old state for the present one. The hub's reports are the ids of those that were published, were dropped or
/// have expired.
extension FleetAccess {
    /// The most notifications that wait for the first subscriber of a channel. The oldest are dropped.
    static let recoveredMax = 1_000

    /// A committed notification.
    package struct Notification: Equatable, Sendable {
        /// The notification's id.
        package let id: String
        /// Its event on its channel and on the channel's mirror. Not empty.
        package let publications: [Hub.Publication]
        /// The notification's sequence number on its channel; nil if the channel is not durable.
        package let sequence: Int64?
        /// The time, in the milliseconds of ``Hub/Input/tick(_:)``, from which on it is not worth publishing.
        package let expiresAt: Int64

        /// - Parameters:
        ///   - publications: not empty; the first one is on the notification's own channel.
        ///   - expiresAt: in the milliseconds of ``Hub/Input/tick(_:)``.
        package init(id: String, publications: [Hub.Publication], sequence: Int64? = nil, expiresAt: Int64) {
            self.id = id
            self.publications = publications
            self.sequence = sequence
            self.expiresAt = expiresAt
        }
    }

    /// Publishes a notification, or holds it if earlier ones of its channel wait for a subscriber.
    mutating func publish(
        _ notification: Notification, _ app: AppIndex, _ hub: inout Hub, _ effects: inout [Hub.Effect]
    ) {
        guard apps[app].recovered[notification.publications[0].channel] != nil else {
            return hub.distribute(notification, app, &effects)
        }
        hold(notification, app, &hub)
    }

    /// Holds a notification until its channel has a subscriber.
    mutating func hold(_ notification: Notification, _ app: AppIndex, _ hub: inout Hub) {
        hub.tellsGateOfSubscriptions = true
        let channel = notification.publications[0].channel
        apps[app].recovered[channel, default: []].append(notification)
        guard apps[app].recovered[channel, default: []].count > Self.recoveredMax else { return }
        let oldest = apps[app].recovered[channel, default: []].removeFirst()
        hub.report(oldest.id)
        droppedRecovered += 1
    }

    /// Publishes what was recovered for a channel that has got a subscriber, or for the channel's mirror.
    package mutating func subscribed(
        to name: ChannelName, app: AppIndex, _ hub: inout Hub, _ effects: inout [Hub.Effect]
    ) {
        guard !apps[app].recovered.isEmpty else { return }
        let names = [name] + (apps[app].policy?.mirror(of: name).map { [$0] } ?? [])
        for name in names {
            for notification in apps[app].recovered.removeValue(forKey: name) ?? [] {
                hub.report(notification.id)
                guard notification.expiresAt > hub.now else { continue }
                hub.distribute(notification, app, &effects)
            }
        }
        hub.tellsGateOfSubscriptions = apps.contains { !$0.recovered.isEmpty }
    }
}

extension Hub {
    mutating func distribute(_ notification: FleetAccess.Notification, _ app: AppIndex, _ effects: inout [Effect]) {
        for publication in notification.publications {
            publish(publication, numbered: notification.sequence, app: app, &effects)
        }
    }
}
