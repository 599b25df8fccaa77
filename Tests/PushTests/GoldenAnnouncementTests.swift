import Access
import Fleet
import Push
import Testing

/// Compares the pushes of the five types of announcements that existing apps know with `Golden/announcements.txt`, byte
/// for byte. The file is reviewed like code. Each paragraph has four lines: the type, the data that an admin sends, the
/// payload for APNs, and the message for FCM.
@Suite struct GoldenAnnouncementTests {
    @Test func everyTypeMatchesTheGoldenFile() throws {
        try PushFixture.expectGolden("announcements.txt", count: 18, job)
    }

    /// The push job of an announcement with the built-in catalogue, except that the notification's id is `N-1`.
    private func job(_ type: String, _ data: String) throws -> PushJob {
        var planner = DispatchPlanner()
        let context = CommandContext(
            sender: .person(Identity(role: .admin, id: "1")), now: PushFixture.now, correlationID: "c-1",
            rules: NotificationRules(.builtIn, mode: .mirror, eventBytesMax: 10_240))
        let announcement = Announcement(type: type, audience: .drivers(["42"]), data: Array(data.utf8))
        let notification = try planner.announce(announcement, context).notifications[0]
        let text = String(decoding: notification.data, as: UTF8.self).replacing(notification.id, with: "N-1")
        return PushFixture.job(notification.event, text)
    }
}
