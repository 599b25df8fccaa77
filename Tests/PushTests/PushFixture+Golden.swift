import Fleet
import Foundation
import Push
import Testing

extension PushFixture {
    /// Compares pushes with a golden file, byte for byte. Each paragraph of the file has four lines: a description of the
    /// job, the event's data, the payload for APNs, and the message for FCM.
    static func expectGolden(
        _ name: String, count: Int, _ makeJob: (_ description: String, _ data: String) throws -> PushJob
    ) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name)")
        let paragraphs = try String(contentsOf: file, encoding: .utf8).split(separator: "\n\n")
        #expect(paragraphs.count == count)
        for paragraph in paragraphs {
            let lines = paragraph.split(separator: "\n").map(String.init)
            try #require(lines.count == 4, "\(lines[0])")
            let message = try message(makeJob(lines[0], lines[1]))
            let apns = apns.request(message, to: iPhone, authorization: "bearer t")
            let fcm = fcm.request(message, to: android, at: now, authorization: "Bearer t")
            #expect(String(decoding: apns.body, as: UTF8.self) == lines[2], "\(lines[0])")
            #expect(String(decoding: fcm.body, as: UTF8.self) == lines[3], "\(lines[0])")
        }
    }
}
