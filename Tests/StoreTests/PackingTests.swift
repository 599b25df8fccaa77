import Testing

@testable import Fleet

@Suite struct PackingTests {
    private static let (id, correlation) = ("01JDQ3S8T9ABCDEFGHJKMNPQRS", "9f1c2d3e-4b5a-4678-9abc-def012345678")

    private func packed(_ data: String) -> [UInt8] {
        PackedData.pack(Array(data.utf8), id: Self.id, correlationID: Self.correlation)
    }

    private func unpacked(_ stored: [UInt8]) -> String {
        String(decoding: PackedData.unpack(stored, id: Self.id, correlationID: Self.correlation), as: UTF8.self)
    }

    private static let end = #","notificationId":"\#(id)","correlationId":"\#(correlation)"}"#

    @Test(arguments: [
        "{}", #"{"a":1}"#, #"{"bookingId":"B-1"}"#, #"{"bookingId":null,"message":"New job assigned to you","totalGBP":12.5}"#,
        #"{"bookingId":"B","message":"New job assigned to you","totalGBP":null,"reason":"x","latitude":1,"longitude":2}"#,
        #"{"message":"","reason":"","notes":"\",\"bookingId\":\"","text":"é€😀\\"}"#,
        #"{"a":{"bookingId":"B","reason":[1,"reason",{}]}}"#,
        #"{"notificationId":"other","correlationId":"other"}"#, #"{"bookingId" : "B" , "message":"x"}"#, "[1]", "", "{",
        #"{"bookingId":"#, #"{"bookingId":""#, #"{"","",":","bookingId":":"}"#, "{\"a\":\"\u{1}\"}",
    ])
    func dataComesBackAsItWas(data: String) {
        #expect(unpacked(packed(data)) == data)
        let whole = String(data.dropLast()) + Self.end
        if data.count > 2 { #expect(unpacked(packed(whole)) == whole) }
    }

    /// Also data that no JSON contains: bytes that mean codes.
    @Test func anyBytesComeBackAsTheyWere() {
        var dice = SystemRandomNumberGenerator()
        let parts = PackedData.fields.prefix(9).map { "\"\($0)\":" } + [",", "\"", "{", "}", "\\", "x", Self.end]
        for _ in 0..<3_000 {
            var data = Array("{".utf8)
            for _ in 0..<Int.random(in: 0...20, using: &dice) {
                data += Array((parts.randomElement(using: &dice) ?? "").utf8)
                if Int.random(in: 0...30, using: &dice) == 0 { data.append(.random(in: 0...255, using: &dice)) }
            }
            let stored = PackedData.pack(data, id: Self.id, correlationID: Self.correlation)
            #expect(PackedData.unpack(stored, id: Self.id, correlationID: Self.correlation) == data)
        }
    }

    private static let damaged: [(stored: [UInt8], data: [UInt8])] = [
        ([1], [0x7B]), ([1, 0xF8], [0x7B, 0xF8]), ([1, 0xFC, 255], [0x7B]), ([], []), ([0x7B, 0xF8], [0x7B, 0xF8]),
        ([1, 0, 1, 0xFD, 0xFF], [0x7B, 0, 1, 0xFD, 0xFF]),
    ]

    /// Bytes without a meaning are kept, and numbers of words that this version does not know are left out.
    @Test(arguments: damaged) func damagedDataIsUnpackedToo(row: (stored: [UInt8], data: [UInt8])) {
        #expect(PackedData.unpack(row.stored, id: Self.id, correlationID: Self.correlation) == row.data)
    }

    @Test func aJobTakesLittleMoreThanItsValues() {
        let data = #"{"bookingId":"B-17","customerName":"Ann","message":"New job assigned to you""# + Self.end
        #expect(packed(data).count == "B-17Ann".utf8.count + 10)
    }

    /// Each code stands for one word, in every form, and a word keeps its code: stored data has the numbers.
    @Test func wordsKeepTheirCodes() {
        #expect(Set(PackedData.fields).count == PackedData.fields.count && Set(PackedData.texts).count == PackedData.texts.count)
        for field in PackedData.fields {
            for data in [#"{"x":"","\#(field)":"","\#(field)":1,"\#(field)":"a","\#(field)":2}"#, #"{"\#(field)":[]}"#] {
                #expect(unpacked(packed(data)) == data && packed(data).count < data.utf8.count)
            }
        }
        for text in PackedData.texts { #expect(unpacked(packed(#"{"x":"","reason":"\#(text)"}"#)).contains(text)) }
        #expect(packed(#"{"bookingId":"B"}"#) == [1, 0xF9, 0] + Array(#""B"}"#.utf8))
        #expect(packed(#"{"x":"","email":"E"}"#).contains(UInt8(PackedData.fields.firstIndex(of: "email") ?? 0)))
        #expect(PackedData.fields[85] == "email" && PackedData.texts[29] == "Tracking stopped: your driver has changed")
    }

    @Test(arguments: [
        (correlation, 17), (correlation.uppercased(), 17), ("0123456789abcdef0123456789abcdef", 17),
        ("0:1500415314455276%31bd1c9631bd1c96", 17), ("phone", 5), ("", 0), ("\u{1}phone", 7), ("\u{4}", 2),
        ("0123456789ABCDEF0123456789ABCDEF", 32), ("9F1c2d3e-4b5a-4678-9abc-def012345678", 36),
        ("9f1c2d3e4-b5a-4678-9abc-def012345678", 36), ("0:150041531445527x%31bd1c9631bd1c96", 35),
        ("0:-500415314455276%31bd1c9631bd1c96", 35), ("0:1500415314455276%31BD1c9631bd1c96", 35), ("é", 2),
    ])
    func textsComeBackAsTheyWere(text: String, bytes: Int) {
        #expect(PackedText.unpack(PackedText.pack(text)) == text)
        #expect(PackedText.pack(text).count == bytes)
    }
}
