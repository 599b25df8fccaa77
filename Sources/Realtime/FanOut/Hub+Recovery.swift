import PusherProtocol

/// Notifications that an earlier process committed and did not publish, because it was killed. Each is published as soon
/// as its channel has a subscriber, and the newer notifications of that channel behind it: without them, the subscriber
/// would take an old state for the present one.
extension Hub {
    /// The most notifications that wait for the first subscriber of a channel. The oldest are dropped.
    static let recoveredMax = 1_000

    /// A committed notification.
    package struct Notification: Equatable, Sendable {
        /// The notification's id.
        package let id: String
        /// Its event on its channel and on the channel's mirror. Not empty.
        package let publications: [Publication]
        /// The notification's sequence number on its channel; nil if the channel is not durable.
        package let sequence: Int64?
        /// The time, in the milliseconds of ``Input/tick(_:)``, from which on it is not worth publishing.
        package let expiresAt: Int64

        /// - Parameters:
        ///   - publications: not empty; the first one is on the notification's own channel.
        ///   - expiresAt: in the milliseconds of ``Hub/Input/tick(_:)``.
        package init(id: String, publications: [Publication], sequence: Int64? = nil, expiresAt: Int64) {
            self.id = id
            self.publications = publications
            self.sequence = sequence
            self.expiresAt = expiresAt
        }
    }

    /// Publishes a notification, or holds it if earlier ones of its channel wait for a subscriber.
    mutating func publish(_ notification: Notification, _ app: AppIndex, _ effects: inout [Effect]) {
        guard !apps[app].recovered.isEmpty, apps[app].recovered[notification.publications[0].channel] != nil else {
            return distribute(notification, app, &effects)
        }
        hold(notification, app: app)
    }

    /// On durable channels the loops need the sequence number: those who have it already must not get it again.
    private mutating func distribute(_ notification: Notification, _ app: AppIndex, _ effects: inout [Effect]) {
        for publication in notification.publications {
            guard let slot = apps[app].slots[publication.channel] else { continue }
            channels[slot].events.add(at: now)
            if let sequence = notification.sequence {
                for loop in channels[slot].loops {
                    effects.append(Effect(loop: loop, instruction: .notify(publication.frame, slot, sequence: sequence)))
                }
                fanOutHidden(publication.frame, on: slot, except: nil, &effects)
            } else {
                fanOut(publication.frame, on: slot, &effects)
            }
        }
    }

    /// Whether ``drainPublishedRecovered(_:)`` has ids to pass.
    package var hasPublishedRecovered: Bool { !publishedRecovered.isEmpty }

    /// Passes the ids of the notifications that waited for a subscriber and were published, dropped or have expired, and
    /// removes them. Call this after each input while the hub is still locked.
    package mutating func drainPublishedRecovered(_ consume: (String) -> Void) {
        for id in publishedRecovered { consume(id) }
        publishedRecovered.removeAll(keepingCapacity: true)
    }

    /// Holds a notification until its channel has a subscriber. Call it at the start, in commit order, before clients
    /// connect.
    package mutating func hold(_ notification: Notification, app: AppIndex) {
        let channel = notification.publications[0].channel
        apps[app].recovered[channel, default: []].append(notification)
        guard apps[app].recovered[channel, default: []].count > Self.recoveredMax else { return }
        let oldest = apps[app].recovered[channel, default: []].removeFirst()
        publishedRecovered.append(oldest.id)
        droppedRecovered += 1
    }

    /// Publishes what was recovered for a channel that has got a subscriber, or for the channel's mirror.
    mutating func publishRecovered(for name: ChannelName, _ app: AppIndex, _ effects: inout [Effect]) {
        guard !apps[app].recovered.isEmpty else { return }
        let names = [name] + (apps[app].rules.policy?.mirror(of: name).map { [$0] } ?? [])
        for name in names {
            for notification in apps[app].recovered.removeValue(forKey: name) ?? [] {
                publishedRecovered.append(notification.id)
                guard notification.expiresAt > now else { continue }
                distribute(notification, app, &effects)
            }
        }
    }
}
