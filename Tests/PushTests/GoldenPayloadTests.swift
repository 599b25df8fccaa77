import FleetRules
import Foundation
import Push
import Testing

/// Compares the payloads of each event that the contract with the apps specifies with `Golden/payloads.txt`, byte for
/// byte. The file is reviewed like code. Each paragraph has four lines: the event with its entity and collapse key, the
/// event's data, the payload for APNs, and the message for FCM.
@Suite struct GoldenPayloadTests {
    @Test func everyEventOfTheContractMatchesTheGoldenFile() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/payloads.txt")
        let paragraphs = try String(contentsOf: file, encoding: .utf8).split(separator: "\n\n")
        #expect(paragraphs.count == 11)
        for paragraph in paragraphs {
            let lines = paragraph.split(separator: "\n").map(String.init)
            try #require(lines.count == 4, "\(lines[0])")
            let fields = lines[0].split(separator: " ").map(String.init)
            let job = PushFixture.job(fields[0], lines[1], entity(fields[1]), collapseKey: fields[2])
            let message = try PushFixture.message(job)
            let apns = PushFixture.apns.request(message, to: PushFixture.iPhone, authorization: "bearer t")
            let fcm = PushFixture.fcm.request(message, to: PushFixture.android, at: PushFixture.now, authorization: "Bearer t")
            #expect(String(decoding: apns.body, as: UTF8.self) == lines[2], "\(lines[0])")
            #expect(String(decoding: fcm.body, as: UTF8.self) == lines[3], "\(lines[0])")
        }
    }

    private func entity(_ text: String) -> PushIntent.Entity? {
        let parts = text.split(separator: ":").map(String.init)
        return switch parts[0] {
        case "job": .job(parts[1])
        case "route": .route(parts[1])
        default: nil
        }
    }
}
