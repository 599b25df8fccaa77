/// A request for the next notifications that a device is to get again.
package struct ReplayRequest: Equatable, Sendable {
    package let key: ReceiptKey
    /// The sequence number behind which the page begins.
    package let after: Int64
    /// The most notifications in the page.
    package let limit: Int
    /// Whether this is the replay's first page. It decides what the replay leaves out.
    package let isFirst: Bool
    package let replyTo: ReplyAddress

    package init(key: ReceiptKey, after: Int64, limit: Int, isFirst: Bool, replyTo: ReplyAddress) {
        self.key = key
        self.after = after
        self.limit = limit
        self.isFirst = isFirst
        self.replyTo = replyTo
    }
}

/// Some of the notifications of a channel that a device has not confirmed and its owner has not acknowledged.
package struct ReplayPage: Equatable, Sendable {
    /// In the order of the channel.
    package let notifications: [ReplayedNotification]
    /// All of the channel up to this sequence number has been considered: the next page begins behind it.
    package let upTo: Int64
    /// Whether ``upTo`` is the channel's last sequence number at this moment.
    package let isComplete: Bool
    /// What the replay leaves out; nil if it leaves out nothing. Only a first page has one.
    package let gap: ReplayGap?

    package init(notifications: [ReplayedNotification], upTo: Int64, isComplete: Bool, gap: ReplayGap?) {
        self.notifications = notifications
        self.upTo = upTo
        self.isComplete = isComplete
        self.gap = gap
    }
}

package struct ReplayedNotification: Equatable, Sendable {
    package let sequence: Int64
    package let notification: Notification

    package init(sequence: Int64, notification: Notification) {
        self.sequence = sequence
        self.notification = notification
    }
}

/// Notifications that a replay leaves out because they are too old or too many.
package struct ReplayGap: Equatable, Sendable {
    package let count: Int
    /// When the first of them was created, in milliseconds since 1970.
    package let from: Int64
    /// When the last of them was created, in milliseconds since 1970.
    package let to: Int64
    /// The sequence number behind which the replay begins.
    package let upTo: Int64

    package init(count: Int, from: Int64, to: Int64, upTo: Int64) {
        self.count = count
        self.from = from
        self.to = to
        self.upTo = upTo
    }
}
