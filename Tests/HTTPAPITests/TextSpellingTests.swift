import Fleet
import Primitives
import PusherAPI
import TestSupport
import Testing

/// What becomes of any text in a request's body: it is stored byte for byte, but for white space around a driver's name, or
/// refused with a 400 that names the member.
@Suite struct TextSpellingTests {
    /// A member of a body, and the rule for it.
    private struct Member: Sendable {
        let name: String
        /// What is permitted; nil: the size of the body decides.
        var most: Int?
        var least = 0
        /// Whether characters that hide or reorder text are refused.
        var isDisplayed = true
        var isTrimmed = false
        let request: @Sendable (String) -> FleetCall
        let stored: @Sendable (Command.Action?) -> String?

        /// Whether the rule accepts a text, and what it stores.
        func accepts(_ text: GeneratedText) -> Bool {
            let kept = kept(of: text)
            return (kept.isDisplayable || !isDisplayed) && kept.scalarCount <= most ?? .max && kept.scalarCount >= least
        }

        func kept(of text: GeneratedText) -> GeneratedText { isTrimmed ? text.trimmed : text }
    }

    private static func card(_ name: String, _ path: KeyPath<DriverCardChanges, Change<String>> & Sendable) -> Member {
        Member(
            name: name, most: 100, isTrimmed: name == "name",
            request: { FleetCall(.put, "/api/admin/drivers/42", #"{"\#(name)":\#($0)}"#) },
            stored: { if case .driverCard(_, let changes) = $0 { changes[keyPath: path].new } else { nil } })
    }

    private static func order(_ name: String, _ path: KeyPath<OrderChanges, Change<String>> & Sendable) -> Member {
        Member(
            name: name, isDisplayed: name == "customerName",
            request: { FleetCall(.put, "/api/admin/orders/A1", #"{"\#(name)":\#($0)}"#) },
            stored: { if case .order(let action) = $0 { action.changes[keyPath: path].new } else { nil } })
    }

    private static let batchID = "0123456789abcdef01234567"

    private static func batch(
        _ name: String, most: Int, isDisplayed: Bool, _ body: @escaping @Sendable (String) -> String,
        _ stored: @escaping @Sendable (BatchEdits) -> String?
    ) -> Member {
        Member(
            name: name, most: most, least: 1, isDisplayed: isDisplayed,
            request: { FleetCall(.put, "/api/admin/batches/\(batchID)", body($0)) },
            stored: { if case .batch(.edit(_, let edits)) = $0 { stored(edits) } else { nil } })
    }

    private static let members: [Member] = [
        card("name", \.name), card("phoneNumber", \.phoneNumber), card("vehicleMake", \.vehicleMake),
        card("vehicleModel", \.vehicleModel), card("vehicleColor", \.vehicleColor), card("licensePlate", \.licensePlate),
        order("customerName", \.customerName), order("pickupAddress", \.pickupAddress), order("dropoffAddress", \.dropoffAddress),
        batch(
            "batchNumber", most: 100, isDisplayed: false, { #"{"batchNumber":\#($0)}"# }, { $0.batchNumber.new }),
        batch(
            "kitchen.name", most: 500, isDisplayed: true, { #"{"kitchen":{"_id":"\#(batchID)","name":\#($0)}}"# },
            { $0.kitchen.new?.name }),
        batch(
            "zone.name", most: 100, isDisplayed: true, { #"{"zone":{"_id":"\#(batchID)","name":\#($0)}}"# },
            { $0.zone.new?.name }),
        batch(
            "orders[0].deliveryAddress.name", most: 500, isDisplayed: true,
            { #"{"orders":[{"_id":"\#(batchID)","orderNumber":"O","deliveryAddress":{"name":\#($0)}}]}"# },
            { $0.orders?.first?.address.name }),
        batch(
            "orders[0].items[0].name", most: 500, isDisplayed: true,
            { #"{"orders":[{"_id":"\#(batchID)","orderNumber":"O","items":[{"menuItemId":"m","name":\#($0)}]}]}"# },
            { $0.orders?.first?.items.first?.name }),
        batch(
            "orders[0].deliveryInstructions", most: 500, isDisplayed: false,
            { #"{"orders":[{"_id":"\#(batchID)","orderNumber":"O","deliveryInstructions":\#($0)}]}"# },
            { $0.orders?.first?.address.instructions }),
    ]

    /// Batches exist while accounts do.
    private let router = Router(
        apps: [.example()], metricsToken: "",
        fleet: .example(
            [.example()], issuers: [FleetCall.issuer], accounts: AccountCheck(countryCode: "+91", entry: { _ in nil })))

    private func stored(_ member: Member, _ json: String) -> (text: String?, refusal: String?) {
        let call = member.request(json)
        if case .command(let command)? = call.apiAction(router).ofFleet { return (member.stored(command.action), nil) }
        return (nil, call.refusal(router))
    }

    @Test(arguments: members.indices) func isKeptByteForByteOrRefusedByName(index: Int) {
        let member = Self.members[index]
        var random = SplitMix(seed: UInt64(index) + 11)
        var (accepted, refused) = (0, 0)
        for _ in 0..<1_000 {
            let text = GeneratedText(scalarsMax: member.most ?? 100, using: &random)
            let json = text.json(using: &random)
            let (kept, refusal) = stored(member, json)
            if member.accepts(text) {
                accepted += 1
                let expected = Array(member.kept(of: text).text.utf8)
                #expect(kept.map { Array($0.utf8) } == expected, "\(member.name) \(json): \(refusal ?? "stored")")
            } else {
                refused += 1
                let names = "400 Expected \"\(member.name)\" to "
                #expect(refusal?.hasPrefix(names) == true, "\(member.name) \(json): \(refusal ?? "stored")")
            }
        }
        // Both happen, as far as a rule refuses anything.
        #expect(accepted > 200 && (refused > 50 || member.most == nil && !member.isDisplayed), "\(accepted) \(refused)")
    }

    /// JSON's grammar has surrogates that are alone, which UTF-8 has not: they become U+FFFD. NUL is in no text.
    @Test(arguments: members.indices) func surrogatesAndNulAreNoText(index: Int) {
        let member = Self.members[index]
        for (json, text) in [
            (#""a\ud800b""#, "a\u{FFFD}b"), (#""a\udc00\ud800b""#, "a\u{FFFD}\u{FFFD}b"), (#""a\ud83d\ude00b""#, "a\u{1F600}b"),
            (#""a\ud83d😀b""#, "a\u{FFFD}\u{1F600}b"),
        ] {
            #expect(stored(member, json).text.map { Array($0.utf8) } == Array(text.utf8), "\(member.name) \(json)")
        }
        for json in [#""\u0000""#, #""a\u0000b""#] {
            let refusal = stored(member, json).refusal
            #expect(refusal == "400 Expected \"\(member.name)\" to contain no NUL character", "\(member.name) \(json)")
        }
        // Bytes that are no UTF-8 are no JSON.
        for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x80]] as [[UInt8]] {
            var call = member.request("\"#\"")
            let place = call.body.lastIndex(of: UInt8(ascii: "#"))!
            call.body.replaceSubrange(place...place, with: bytes)
            #expect(call.status(router) == 400, "\(member.name) \(bytes)")
        }
    }

    // MARK: Ids of devices and of what telemetry is about

    /// They may have any characters but control characters.
    @Test(arguments: ["deviceId", "entityId"]) func idsHaveNoControlCharacters(name: String) {
        var random = SplitMix(seed: 5)
        var accepted = 0
        for _ in 0..<1_000 {
            let text = GeneratedText(scalarsMax: 150, using: &random)
            let json = text.json(using: &random)
            let call =
                name == "deviceId"
                ? FleetCall(
                    .post, "/app-register-device", #"{"deviceToken":"t","platform":"android","deviceId":\#(json)}"#, as: .driver)
                : FleetCall(
                    .post, "/api/driver/notifications/log",
                    #"{"notificationId":"n","type":"new_job","event":"received","timestamp":"2026-11-21T09:30:00Z","entityId":\#(json)}"#,
                    as: .driver)
            let isControl = text.text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
            if (1...150).contains(text.scalarCount), !isControl {
                accepted += 1
                let stored: String? =
                    switch call.action {
                    case .device(let registration): registration.deviceID
                    case .telemetry(let events): events.first?.entityID
                    default: nil
                    }
                #expect(stored.map { Array($0.utf8) } == Array(text.text.utf8), "\(json): \(call.refusal ?? "")")
            } else {
                #expect(call.refusal?.contains("\"\(name)\"") == true, "\(json): \(call.refusal ?? "accepted")")
            }
        }
        #expect(accepted > 200)
    }
}

extension Change {
    /// The new value; nil for `keep` and `clear`.
    fileprivate var new: Value? { if case .set(let value) = self { value } else { nil } }
}
