import Fleet
import Push
import Testing

/// Compares the payloads of each event that the contract with the apps specifies with `Golden/payloads.txt`, byte for
/// byte. The file is reviewed like code. Each paragraph has four lines: the event with its entity and collapse key, the
/// event's data, the payload for APNs, and the message for FCM.
@Suite struct GoldenPayloadTests {
    @Test func everyEventOfTheContractMatchesTheGoldenFile() throws {
        try PushFixture.expectGolden("payloads.txt", count: 11) { description, data in
            let fields = description.split(separator: " ").map(String.init)
            return PushFixture.job(fields[0], data, entity(fields[1]), collapseKey: fields[2])
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
