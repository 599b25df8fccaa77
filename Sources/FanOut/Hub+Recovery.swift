import PusherProtocol

/// Notifications that an earlier process committed and did not publish, because it was killed. Each is published as soon
/// as its channel has a subscriber.
extension Hub {
    /// Such a notification.
    package struct RecoveredNotification: Equatable, Sendable {
        /// The notification's id.
        package let id: String
        /// Its event on its channel and on the channel's mirror. Not empty.
        package let publications: [Publication]
        /// The time, in the milliseconds of ``Input/tick(_:)``, from which on it is not worth publishing.
        package let expiresAt: Int64

        /// - Parameters:
        ///   - publications: not empty; the first one is on the notification's own channel.
        ///   - expiresAt: in the milliseconds of ``Hub/Input/tick(_:)``.
        package init(id: String, publications: [Publication], expiresAt: Int64) {
            self.id = id
            self.publications = publications
            self.expiresAt = expiresAt
        }
    }

    /// Whether ``drainPublishedRecovered(_:)`` has ids to pass.
    package var hasPublishedRecovered: Bool { !publishedRecovered.isEmpty }

    /// Passes the ids of the recovered notifications that were published or have expired, and removes them. Call this
    /// after each input while the hub is still locked.
    package mutating func drainPublishedRecovered(_ consume: (String) -> Void) {
        for id in publishedRecovered { consume(id) }
        publishedRecovered.removeAll(keepingCapacity: true)
    }

    /// Holds a notification until its channel has a subscriber. Call it at the start, in commit order, before clients
    /// connect.
    package mutating func hold(_ notification: RecoveredNotification, app: AppIndex) {
        apps[app].recovered[notification.publications[0].channel, default: []].append(notification)
    }

    /// Publishes what was recovered for a channel that has got a subscriber, or for the channel's mirror.
    mutating func publishRecovered(for name: ChannelName, _ app: AppIndex, _ effects: inout [Effect]) {
        guard !apps[app].recovered.isEmpty else { return }
        let names = [name] + (apps[app].rules.policy?.mirror(of: name).map { [$0] } ?? [])
        for name in names {
            for notification in apps[app].recovered.removeValue(forKey: name) ?? [] {
                publishedRecovered.append(notification.id)
                guard notification.expiresAt > now else { continue }
                for publication in notification.publications { publish(publication, app, except: nil, &effects) }
            }
        }
    }
}
