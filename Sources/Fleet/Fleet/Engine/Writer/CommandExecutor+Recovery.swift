/// Finds at the start what earlier processes committed and did not publish.
extension CommandExecutor {
    /// The most notifications of a channel that are found: one more than the hub holds, which counts that it drops some.
    static let recoveredMax = 1_001

    /// Finds the notifications that earlier processes committed and did not publish, and those that followed on the same
    /// channels: a notification waits because its channel has had no subscriber since.
    ///
    /// They are forgotten when they are out of date by the trusted time, because that cannot be undone. They are
    /// returned only if they are not out of date by the wall clock either: if the machine was off for hours, nobody
    /// should get an old event as news. The others wait for the next start.
    /// - Returns: the notifications in commit order, the number of each in its channel's sequence, and for how many
    ///   milliseconds each is worth publishing.
    package func recover(
        now: Int64
    ) throws(DatabaseError) -> [(notification: Notification, sequence: Int64, milliseconds: Int64)] {
        try transaction { () throws(DatabaseError) in
            // The first of each channel.
            var first: [String: LoggedNotification] = [:]
            // Beside other nodes: what the first of them has found, and nobody has got yet. Each node holds it for its own
            // subscribers.
            for id in try isAlone ? publication.recover() : publication.waiting() {
                if let logged = try notifications.notification(id: id), isWorthKeeping(logged.notification, now) {
                    let channel = logged.notification.channel
                    if first[channel] == nil { first[channel] = logged }
                } else {
                    try publication.forget(id)
                }
            }
            var recovered: [(notification: Notification, sequence: Int64, milliseconds: Int64)] = []
            for logged in first.values {
                for following in try notifications.following(logged, most: Self.recoveredMax)
                where isWorthKeeping(following.notification, now) {
                    let notification = following.notification
                    try publication.remember(notification.id)
                    let milliseconds = notification.publishUntil - now
                    if milliseconds > 0 { recovered.append((notification, following.sequence, milliseconds)) }
                }
            }
            return recovered.sorted { $0.notification.id < $1.notification.id }
        }
    }

    private func isWorthKeeping(_ notification: Notification, _ now: Int64) -> Bool {
        notification.publishUntil > now - clockLead
    }
}
