import Testing

@testable import Fleet

/// The numbers are those that card networks publish for tests.
@Suite struct CardNumbersTests {
    private static let cards = [
        "4111111111111111", "5555555555554444", "378282246310005", "6011111111111117", "30569309025904", "3530111333300000",
        "4222222222222", "6304000000000000000", "2223003122003222",
    ]

    private func occur(_ json: String) -> Bool { Array(json.utf8).withUnsafeBytes { CardNumbers.occur(in: $0) } }

    @Test(arguments: cards) func findsACardAnywhere(card: String) {
        let groups = stride(from: 0, to: card.count, by: 4).map { String(card.dropFirst($0).prefix(4)) }
        let (spaced, hyphenated) = (groups.joined(separator: " "), groups.joined(separator: "-"))
        let wide = String(String.UnicodeScalarView(card.unicodeScalars.map { Unicode.Scalar($0.value + 0xFEE0)! }))
        for json in [
            #"{"a":"\#(card)"}"#, #"{"a":\#(card)}"#, #"{"a":-\#(card)}"#, #"{"a":\#(card).0}"#, #"{"\#(card)":1}"#,
            #"{"a":{"b":[{"c":"x \#(card)."}]}}"#, #"["\#(card)"]"#, #"[[\#(card)]]"#, #"{"a":"\#(spaced)"}"#,
            #"{"a":"\#(groups.joined(separator: "  "))"}"#, #"{"a":"\#(groups.joined(separator: " - "))"}"#,
            #"{"a":"\#(groups.joined(separator: "\u{A0}\u{2013}"))"}"#, #"{"a":"\#(groups.joined(separator: "\u{200B}"))"}"#,
            #"{"a":"\#(groups.joined(separator: "\\n\\t"))"}"#, #"{"a":"\#(hyphenated)"}"#, #"{"a":"\#(spaced) 12/27"}"#,
            #"{"a":"12 \#(spaced)"}"#, #"{"a":"card\#(card)x"}"#,
            #"{"a":"\#(wide)"}"#, #"{"a":"\u003\#(card.first!)\#(card.dropFirst())"}"#, #"{"a":\#(card)e0}"#,
            #"{"a":\#(card.first!).\#(card.dropFirst())E+\#(card.count - 1)}"#, #"{"a":\#(card)00e-2}"#,
        ] {
            #expect(occur(json), "\(json)")
        }
    }

    @Test(arguments: cards) func anotherCheckDigitIsNoCard(card: String) {
        let last = card.last!.wholeNumberValue!
        for digit in 0...9 where digit != last {
            let wrong = card.dropLast() + "\(digit)"
            #expect(!occur(#"{"a":"\#(wrong)"}"#) && !occur(#"{"a":\#(wrong)}"#))
        }
    }

    @Test(arguments: [
        "{}", "[]", "null", "{", #"{"a":"tok_visa","last4":"1111"}"#, #"{"a":"0000000000000000"}"#, #"{"a":"411111111111"}"#,
        #"{"a":"41111111111111111111"}"#, #"{"a":"4111.1111.1111.1111"}"#,
        #"{"a":"4111x1111x1111x1111"}"#, #"{"a":0.4111111111111111}"#, #"{"a":1e400}"#, #"{"a":1e-400}"#, #"{"a":0e16}"#,
        #"{"a":"2026-11-24 13:20:00"}"#, #"{"a":["4111","1111","1111","1111"]}"#, #"{"a":4111111111111111e9}"#,
    ])
    func otherValuesAreNoCards(json: String) { #expect(!occur(json)) }

    /// A naive search over all windows that begin and end at groups finds the same.
    @Test(arguments: 0..<200) func agreesWithANaiveSearch(seed: UInt64) {
        var random = Seeded(state: seed)
        let text = String((0..<60).map { _ in "0123456789012345678945 -x".randomElement(using: &random)! })
        #expect(CardNumbers.occur(inText: text) == naive(Array(text)), "\(text)")
    }

    private func naive(_ text: [Character]) -> Bool {
        func isDigit(_ index: Int) -> Bool { text.indices.contains(index) && text[index].isNumber }
        for start in text.indices where isDigit(start) && !isDigit(start - 1) {
            for end in start..<text.count where isDigit(end) && !isDigit(end + 1) {
                let part = text[start...end]
                let isCard = part.indices.allSatisfy { index in
                    isDigit(index) || text[index] == " " || text[index] == "-"
                }
                let digits = part.compactMap(\.wholeNumberValue)
                guard isCard, (13...19).contains(digits.count), digits.contains(where: { $0 > 0 }) else { continue }
                var sum = 0
                for (offset, digit) in digits.reversed().enumerated() {
                    sum += offset % 2 == 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
                }
                if sum % 10 == 0 { return true }
            }
        }
        return false
    }
}

/// SplitMix64.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
