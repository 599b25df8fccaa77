import Fleet
import Push
import TestSupport
import Testing

/// Both providers limit a push to 4,096 bytes. Longer messages are cut.
@Suite struct TruncationTests {
    @Test func messagesThatFitAreNotChanged() throws {
        var message = try message()
        message.eventFields = [PushMessage.Field("note", "")]
        let rest = payload(message).count
        message.eventFields = [PushMessage.Field("note", String(repeating: "x", count: 4_096 - rest))]
        #expect(payload(message).count == 4_096)
        #expect(try ReadObject(payload(message))["note"]?.utf8.count == 4_096 - rest)
    }

    @Test func cutsTheLongestValuesFirst() throws {
        var message = try message()
        message.eventFields = [
            PushMessage.Field("a", String(repeating: "a", count: 3_000)),
            PushMessage.Field("b", String(repeating: "b", count: 400)),
            PushMessage.Field("c", String(repeating: "c", count: 2_000)), PushMessage.Field("d", "short"),
        ]
        let object = try ReadObject(payload(message))
        #expect(payload(message).count > 4_090)
        #expect(object["b"]?.utf8.count == 400)
        #expect(object["d"] == "short")
        #expect(object["a"]?.utf8.count == object["c"]?.utf8.count)
        #expect(object["a"]?.hasSuffix("aa…") == true)
        #expect(object["message"] == message.body)
    }

    /// A value that is two bytes too long loses five bytes: these two, and three for the ellipsis.
    @Test func cutsNoMoreThanNeeded() throws {
        var message = try message()
        message.eventFields = [PushMessage.Field("note", "")]
        let room = 4_096 - payload(message).count
        message.eventFields = [PushMessage.Field("note", String(repeating: "x", count: room + 2))]
        #expect(try ReadObject(payload(message))["note"] == String(repeating: "x", count: room - 3) + "…")
        #expect(payload(message).count == 4_096)
    }

    /// In JSON a control character takes six bytes, a quotation mark two.
    @Test(arguments: [("\u{1}", 6), ("\"", 2), ("\\", 2), ("\n", 2), ("\u{7f}", 1), ("漢", 3)])
    func countsBytesOfJSON(_ character: String, _ bytes: Int) throws {
        var message = try message()
        message.eventFields = [PushMessage.Field("note", text(character, 5_000 / bytes))]
        let object = try ReadObject(payload(message))
        #expect(payload(message).count > 4_096 - bytes)
        #expect(object["note"]?.hasSuffix("…") == true)
        #expect(object["message"] == message.body)
    }

    @Test func cutsTheBodyThenTheTitle() throws {
        var message = try message()
        message.body = String(repeating: "b", count: 3_000)
        message.eventFields = [PushMessage.Field("note", String(repeating: "n", count: 500))]
        var object = try ReadObject(payload(message))
        let body = try #require(object["message"])
        #expect(body.utf8.count > 1_500)
        #expect(body.hasSuffix("bb…"))
        #expect(try object.object("aps.alert")["body"] == body)
        #expect(object["title"] == message.title)
        #expect(object["note"] == String(repeating: "n", count: 21) + "…")

        message.title = String(repeating: "t", count: 3_000)
        object = try ReadObject(payload(message))
        #expect(object["message"] == String(repeating: "b", count: 61) + "…")
        #expect(try #require(object["title"]).utf8.count > 1_500)
        #expect(try object.object("aps.alert")["title"] == object["title"])
    }

    /// The other fields are cut or dropped instead of the required ones, as long as that is enough.
    @Test func requiredFieldsStayWhole() throws {
        let reference = String(repeating: "R", count: 150)
        let data = #"""
            {"reference":"\#(reference)","driver_id":"42","timestamp":"2026-11-21T09:30:00Z","driverName":"\#(text("é", 4_000))"}
            """#
        var message = try PushFixture.message(PushFixture.job("driver-arrival", data, .job(String(repeating: "B", count: 150))))
        message.title = text("漢", 2_000)
        message.eventFields += (0..<200).map { PushMessage.Field("field-\($0)", text("\"", 300)) }
        for object in [try ReadObject(payload(message)), try ReadObject(fcm(message)).object("message.data")] {
            #expect(object["reference"] == reference)
            #expect(object["driver_id"] == "42")
            #expect(object["timestamp"] == "2026-11-21T09:30:00Z")
            for field in message.leadingFields { #expect(object[field.name] == field.value) }
        }
    }

    /// A zone's name that was cut could be the name of another zone, so it is required. A reason is free text and may
    /// be cut.
    @Test(
        arguments: [
            ("new-batch-available", ["batchId", "batchNumber", "zone", "orderCount"]),
            ("batch-reassigned", ["batchId", "zone", "orderId"]),
            ("order-cancelled", ["orderId", "batchId"]), ("driver-approved", ["action"]), ("driver-rejected", ["action"]),
        ])
    func requiredFieldsByTypeStayWhole(_ event: String, _ names: [String]) throws {
        let value = String(repeating: "7", count: 150)
        let fields = names.map { #""\#($0)":"\#(value)""# } + [#""reason":"\#(text("r", 5_000))""#]
        let message = try PushFixture.message(PushFixture.job(event, "{\(fields.joined(separator: ","))}"))
        for object in [try ReadObject(payload(message)), try ReadObject(fcm(message)).object("message.data")] {
            for name in names { #expect(object[name] == value, "\(name)") }
            #expect(object["reason"]?.hasSuffix("…") == true)
        }
    }

    /// If the required fields alone are too long, the longest are dropped and the others stay whole.
    @Test func dropsRequiredFieldsRatherThanCutThem() throws {
        let data = #"{"bookingId":"\#(text("9", 4_000))","orderId":"O-1"}"#
        let message = try PushFixture.message(PushFixture.job("new-batch-available", data))
        let object = try ReadObject(payload(message))
        #expect(object["jobId"] == nil)
        #expect(object["entityId"] == nil)
        #expect(object["notificationId"] == "N-1")
        #expect(object["type"] == "NEW_BATCH_AVAILABLE")
    }

    /// Each argument is one grapheme cluster, so a cut text contains it completely or not at all.
    @Test(arguments: ["👩‍👩‍👧‍👦", "👩🏽‍❤️‍💋‍👨🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇬🇧", "👍🏽", "e\u{301}\u{323}", "漢", "한", "กำ", "नि", "\r\n", "\"", "\u{1}", "\\"])
    func cutsBetweenGraphemeClusters(_ character: String) throws {
        var message = try message()
        let whole = text(character, 6_000 / character.utf8.count)
        message.eventFields = [PushMessage.Field("note", "x" + whole)]
        message.body = "y" + whole
        for object in [try ReadObject(payload(message)), try ReadObject(fcm(message)).object("message.data")] {
            for (name, first) in [("note", "x"), ("message", "y")] {
                var value = try #require(object[name])
                #expect(value.hasPrefix(first) && value.hasSuffix("…"))
                value = String(value.dropFirst().dropLast())
                #expect(value.utf8.count.isMultiple(of: character.utf8.count))
                #expect((first + whole).utf8.starts(with: (first + value).utf8))
            }
        }
    }

    /// A letter with very many accents is one grapheme cluster, which may be the whole text. It is cut between two
    /// accents.
    @Test(arguments: ["", "a", "abc", "👩‍👩‍👧‍👦"]) func cutsAClusterThatIsNoCharacter(_ start: String) throws {
        var message = try message()
        let whole = start + text("\u{301}", 4_000)
        message.eventFields = [PushMessage.Field("note", whole)]
        message.body = whole
        for object in [try ReadObject(payload(message)), try ReadObject(fcm(message)).object("message.data")] {
            let (note, body) = (try #require(object["note"]), try #require(object["message"]))
            #expect(note.utf8.count > 20 - 2 && body.utf8.count > 1_500)
            for value in [note, body] {
                #expect(value.unicodeScalars.last == "…")
                #expect(whole.unicodeScalars.starts(with: value.unicodeScalars.dropLast()))
            }
        }
        #expect(payload(message).count > 4_090)
    }

    /// A value of 24 bytes has no room for the longest emoji, which is dropped: a part of it would be another emoji.
    @Test func dropsAnEmojiThatDoesNotFit() throws {
        var message = try message()
        message.body = text("b", 5_000)
        message.eventFields = [PushMessage.Field("note", text("👩🏽‍❤️‍💋‍👨🏽", 100))]
        #expect(try ReadObject(payload(message))["note"] == "…")
    }

    /// Random messages fit, are JSON and UTF-8 (``ReadObject`` checks both), and each text is whole or a prefix with an
    /// ellipsis.
    @Test func everyMessageFits() throws {
        for seed in 0..<150 {
            var rng = SplitMix(seed: UInt64(seed))
            let message = try randomMessage(&rng)
            let apns = payload(message)
            #expect(apns.count <= 4_096, "seed \(seed)")
            try checkPrefixes(of: message, in: ReadObject(apns), "seed \(seed)")

            let request = try ReadObject(fcm(message)).object("message")
            let data = try request.object("data")
            try checkPrefixes(of: message, in: data, "seed \(seed)")
            let payload = try request.object("apns.payload")
            #expect(bytes(data) + (payload["aps"]?.utf8.count ?? 0) <= 4_096, "seed \(seed)")
            let shown = try bytes(request.object("notification")) + bytes(request.object("android.notification"))
            #expect(bytes(data) + shown <= 4_096, "seed \(seed)")
        }
    }

    private func checkPrefixes(of message: PushMessage, in object: ReadObject, _ comment: Comment) throws {
        for name in object.names where name != "aps" {
            let (value, whole) = (try #require(object[name]), try #require(message[name]))
            if value.utf8.elementsEqual(whole.utf8) { continue }
            #expect(value.unicodeScalars.last == "…", comment)
            #expect(whole.utf8.starts(with: value.utf8.dropLast(3)), comment)
            #expect(!message.leadingFields.contains { $0.name == name }, comment)
        }
    }

    /// Bytes of keys and values, as FCM counts.
    private func bytes(_ object: ReadObject) -> Int {
        object.names.reduce(0) { $0 + $1.utf8.count + (object[$1]?.utf8.count ?? 0) }
    }

    private func randomMessage(_ rng: inout SplitMix) throws -> PushMessage {
        var message = try message()
        message.title = rng.text()
        message.body = rng.text()
        message.sound = rng.text(isShort: true)
        message.category = rng.text(isShort: true)
        message.thread = rng.text(isShort: true)
        message.channelID = rng.text(isShort: true)
        message.leadingFields = ["type", "event", "notificationId", "entityId", "jobId"].map {
            PushMessage.Field($0, rng.text(isShort: true), isRequired: true)
        }
        message.eventFields = (0..<Int.random(in: 0...30, using: &rng)).map {
            PushMessage.Field("\($0)\(rng.text(isShort: true))", rng.text(), isRequired: $0 % 7 == 6)
        }
        return message
    }

    private func message() throws -> PushMessage { try PushFixture.message(PushFixture.job("job-assigned", "{}", .job("B-1"))) }

    private func text(_ character: String, _ count: Int) -> String { String(repeating: character, count: count) }

    private func payload(_ message: PushMessage) -> [UInt8] {
        PushFixture.apns.request(message, to: PushFixture.iPhone, authorization: "").body
    }

    private func fcm(_ message: PushMessage) -> [UInt8] {
        PushFixture.fcm.request(message, to: PushFixture.android, at: PushFixture.now, authorization: "").body
    }
}

extension SplitMix {
    private static let characters = [
        "a", "Z", "9", " ", "é", "e\u{301}", "\u{301}", "漢", "한", "👩‍👩‍👧", "🇬🇧", "👍🏽", "\"", "\\", "\n", "\u{0}", "\u{1b}",
        "\u{200d}", "…", "null", "\u{2028}",
    ]

    /// A text, mostly short, sometimes far too long for a push.
    /// - Parameter isShort: whether the text has at most 60 characters.
    fileprivate mutating func text(isShort: Bool = false) -> String {
        let count = Int.random(in: 0...[3, 20, 60, isShort ? 60 : 4_000].randomElement(using: &self)!, using: &self)
        let kinds = (0..<3).map { _ in Self.characters.randomElement(using: &self)! }
        return (0..<count).map { _ in kinds.randomElement(using: &self)! }.joined()
    }
}
