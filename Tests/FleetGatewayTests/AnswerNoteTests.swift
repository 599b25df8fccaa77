import Cluster
import Fleet
import Testing

@testable import FleetGateway

@Suite struct AnswerNoteTests {
    private static let events: [OfferMetricsEvent] = [
        .answered(driverID: "d1", .job("O-1"), .accepted, at: 2_000_000),
        .answered(driverID: "Ω", .route("R 1"), .taken, at: 5_600_000),
        .answered(driverID: "d1", .job("O-1"), .refused, at: -1_600_000),
    ]

    @Test(arguments: events) func isReadAsItWasWritten(_ event: OfferMetricsEvent) throws {
        let note = try #require(AnswerNote(event)?.note)
        #expect(AnswerNote(note, now: 2_000_000)?.event == event)
        #expect(PositionNote(note) == nil)
    }

    @Test func otherEventsAreNotTold() {
        #expect(AnswerNote(.viewed(notificationID: "n", at: 1)) == nil)
        #expect(AnswerNote(.pushed(notificationID: "n", at: 1)) == nil)
    }

    @Test(arguments: [
        "", "d1\njob\nO-1\naccepted", "d1\njob\nO-1\naccepted\nx", "d1\njob\nO-1\nlost\n1", "d1\ntrip\nO-1\naccepted\n1",
        "d1\njob\nO-1\naccepted\n1\n", "d1\njob\nO-1\naccepted\n99999999999999999999",
        "d1\njob\nO-1\naccepted\n-9223372036854775808", "d1\njob\nO-1\naccepted\n3600002", "d1\njob\nO-1\naccepted\n-3600000",
    ])
    func malformedNotesAreIgnored(_ text: String) {
        #expect(AnswerNote(ClusterNote(kind: AnswerNote.kind, content: Array(text.utf8)), now: 1) == nil)
    }
}
