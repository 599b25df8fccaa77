import Access
import FleetRules
import Foundation
import Push
import Testing

/// Compares the pushes of the five types of announcements that existing apps know with `Golden/announcements.txt`, byte
/// for byte. The file is reviewed like code. Each paragraph has four lines: the type, the data that an admin sends, the
/// payload for APNs, and the message for FCM.
@Suite struct GoldenAnnouncementTests {
    @Test func everyTypeMatchesTheGoldenFile() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/announcements.txt")
        let paragraphs = try String(contentsOf: file, encoding: .utf8).split(separator: "\n\n")
        #expect(paragraphs.count == 18)
        for paragraph in paragraphs {
            let lines = paragraph.split(separator: "\n").map(String.init)
            try #require(lines.count == 4, "\(lines[0])")
            let message = try PushFixture.message(try job(lines[0], lines[1]))
            let apns = PushFixture.apns.request(message, to: PushFixture.iPhone, authorization: "bearer t")
            let fcm = PushFixture.fcm.request(message, to: PushFixture.android, at: PushFixture.now, authorization: "Bearer t")
            #expect(String(decoding: apns.body, as: UTF8.self) == lines[2], "\(lines[0])")
            #expect(String(decoding: fcm.body, as: UTF8.self) == lines[3], "\(lines[0])")
        }
    }

    /// The push job of an announcement with the built-in catalogue, except that the notification's id is `N-1`.
    private func job(_ type: String, _ data: String) throws -> PushJob {
        var planner = DispatchPlanner()
        let context = CommandContext(
            actor: Identity(role: .admin, id: "1"), now: PushFixture.now, correlationID: "c-1",
            rules: NotificationRules(.builtIn, mode: .mirror, eventBytesMax: 10_240))
        let announcement = Announcement(type: type, audience: .drivers(["42"]), data: Array(data.utf8))
        let notification = try planner.announce(announcement, context).notifications[0]
        let text = String(decoding: notification.data, as: UTF8.self).replacing(notification.id, with: "N-1")
        return PushFixture.job(notification.event, text)
    }
}
