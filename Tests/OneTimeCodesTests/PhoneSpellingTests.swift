import Fleet
import Primitives
import TestSupport
import Testing

/// The ways in which apps write one phone number, and what is none. An app sends digits; what people type beside them is
/// refused, so that no limit of a phone can be passed by another spelling.
@Suite struct PhoneSpellingTests {
    /// A phone: a country's calling code, and the subscriber's number without trunk prefix.
    private struct Phone: Equatable {
        let code: String
        let subscriber: String
        /// Whether numbers of the country may begin with a zero, so that there is no trunk prefix.
        let hasZeros: Bool

        var text: String { "+" + code + subscriber }

        /// Codes of one, two and three digits, of both kinds of countries.
        private static let countries: [(code: String, hasZeros: Bool)] = [
            ("1", false), ("7", false), ("20", false), ("44", false), ("91", false), ("49", false), ("353", false),
            ("971", false),
            ("250", false), ("39", true), ("225", true), ("229", true), ("378", true), ("992", true),
        ]

        static func random(_ random: inout SplitMix) -> Phone {
            let country = random.pick(countries)!
            let length = random.within(4...14 - country.code.utf8.count)
            var digits = (0..<length).map { _ in random.below(10) }
            // One zero may begin a number where there is no trunk prefix, two zeros only in Tajikistan.
            digits[0] = country.hasZeros ? digits[0] : random.within(1...9)
            if digits[0] == 0, country.code != "992" { digits[1] = random.within(1...9) }
            // Some numbers begin with the digits of their own calling code, which is no mistake.
            if random.chance(percent: 30) { digits.replaceSubrange(0..<country.code.utf8.count, with: Self.digits(country.code)) }
            return Phone(code: country.code, subscriber: digits.map(String.init).joined(), hasZeros: country.hasZeros)
        }

        private static func digits(_ text: String) -> [Int] { text.utf8.map { Int($0 - UInt8(ascii: "0")) } }

        /// The texts that mean this phone: with trunk prefix or without, and with a part of the calling code in the number.
        var spellings: [(code: String, phone: String)] {
            let withTrunk = hasZeros ? [] : ["0" + subscriber]
            return ([subscriber] + withTrunk).flatMap { (number: String) -> [(code: String, phone: String)] in
                let digits = code + number
                return (1...3).compactMap { (length: Int) -> (code: String, phone: String)? in
                    guard digits.utf8.count <= 15, length < digits.utf8.count, digits.utf8.count - length <= 14,
                        digits.utf8.count - length >= 4
                    else { return nil }
                    return ("+" + String(digits.prefix(length)), String(digits.dropFirst(length)))
                }
            }
        }
    }

    private static func number(_ code: String, _ phone: String) throws(RuleError) -> PhoneNumber {
        var form = LoginForm()
        (form.callingCode, form.country) = (.value(code), .value("GB"))
        (form.phone, form.userType) = (.value(phone), .value("customer"))
        return try form.number(countries: [])
    }

    @Test func everySpellingOfAPhoneIsOneNumber() throws {
        var random = SplitMix(seed: 44)
        var spellings = 0
        for _ in 0..<5_000 {
            let phone = Phone.random(&random)
            for spelling in phone.spellings {
                spellings += 1
                #expect(throws: Never.self, "\(spelling) \(phone)") {
                    let read = try Self.number(spelling.code, spelling.phone)
                    #expect(read.text == phone.text && read.callingCode == spelling.code, "\(spelling) \(phone)")
                }
            }
        }
        #expect(spellings > 20_000)
    }

    /// The one form of a number stays what it is when an app sends it.
    @Test func theFormOfANumberIsItsOwn() throws {
        var random = SplitMix(seed: 164)
        for _ in 0..<5_000 {
            let phone = Phone.random(&random)
            let digits = try Self.number("+" + phone.code, phone.subscriber).text.dropFirst()
            for length in 1...3 where digits.count - length >= 4 && digits.count - length <= 14 {
                let again = try Self.number("+" + digits.prefix(length), String(digits.dropFirst(length)))
                #expect(again.text == "+" + digits, "\(phone)")
            }
        }
    }

    /// Two phones never have one text, however they are written, also if one digit is all that they differ in.
    @Test func differentPhonesAreNeverEqual() throws {
        var random = SplitMix(seed: 7)
        var phones: [String: Phone] = [:]
        for _ in 0..<20_000 {
            let phone = Phone.random(&random)
            let spelling = random.pick(phone.spellings)!
            let text = try Self.number(spelling.code, spelling.phone).text
            #expect(phones[text] == nil || phones[text] == phone, "\(phone) \(spelling) \(text)")
            phones[text] = phone
            var digits = Array(phone.subscriber.utf8)
            let place = random.within(1...digits.count - 1)
            digits[place] = (digits[place] - 0x30 + UInt8(random.within(1...9))) % 10 + 0x30
            let other = try? Self.number("+" + phone.code, String(decoding: digits, as: UTF8.self)).text
            #expect(other != text, "\(phone) \(text)")
        }
    }

    /// What people write between digits, digits of other scripts, and what is not seen.
    private static let foreign: [Unicode.Scalar] = [
        " ", "-", ".", "(", ")", "/", "+", "*", "#", ",", ";", "x", "e", "\t", "\n", "\u{0}", "\u{A0}", "\u{AD}", "\u{301}",
        "\u{660}", "\u{6F5}", "\u{967}", "\u{B9}", "\u{2010}", "\u{2013}", "\u{200B}", "\u{200D}", "\u{200E}", "\u{202C}",
        "\u{202D}", "\u{2060}", "\u{2212}", "\u{FEFF}", "\u{FF0B}", "\u{FF10}", "\u{FF14}", "\u{FFFD}", "\u{1D7D2}", "\u{1F51F}",
    ]

    /// Phones copied from a list of contacts often have marks of direction around them (U+202D and U+202C).
    @Test func onlyDigitsAreANumber() throws {
        var random = SplitMix(seed: 9)
        for _ in 0..<5_000 {
            let phone = Phone.random(&random)
            let scalar = random.pick(Self.foreign)!
            var text = Array(phone.subscriber.unicodeScalars)
            text.insert(scalar, at: random.within(0...text.count))
            let spelling = String(String.UnicodeScalarView(text))
            #expect(throws: RuleError(.wrongPhone), "\(text)") {
                try Self.number("+" + phone.code, spelling)
            }
            var code = Array(phone.code.unicodeScalars)
            code.insert(scalar, at: random.within(0...code.count))
            #expect(throws: RuleError(.wrongCallingPrefix), "\(code)") {
                try Self.number("+" + String(String.UnicodeScalarView(code)), phone.subscriber)
            }
        }
    }

    /// 00 is dialled before a calling code in many countries, and two trunk zeros nowhere.
    @Test func twoZerosAreNoTrunkPrefix() throws {
        var random = SplitMix(seed: 2)
        for _ in 0..<2_000 {
            let phone = Phone.random(&random)
            let text = "00" + (random.chance(percent: 50) ? phone.code : "") + phone.subscriber
            guard phone.code != "992", text.utf8.count + phone.code.utf8.count <= 15 else { continue }
            #expect(throws: RuleError(.wrongPhone), "\(text)") {
                try Self.number("+" + phone.code, text)
            }
            for code in ["+0", "+00"] {
                #expect(throws: RuleError(.wrongPhone), "\(code)") {
                    try Self.number(code, phone.subscriber)
                }
            }
        }
    }

    /// A number has 15 digits at most (ITU-T E.164), and here 4 after its calling code.
    @Test func aNumberIsNeitherShortNorLong() {
        for digits in 0...30 {
            let phone = String(repeating: "2", count: digits)
            let isNumber = (try? Self.number("+44", phone)) != nil
            #expect(isNumber == (4...13).contains(digits), "\(digits)")
        }
    }

    /// A comparison of texts with so many combining marks would take minutes.
    @Test(.timeLimit(.minutes(1))) func longTextsAreRefusedAtOnce() {
        for text in ["2", "0", "\u{301}\u{316}", "\u{202D}", " ", "+"].map({ String(repeating: $0, count: 1_000_000) }) {
            #expect(throws: RuleError(.wrongPhone)) { try Self.number("+44", text) }
            #expect(throws: RuleError(.wrongCallingPrefix)) {
                try Self.number("+" + text, "2071838750")
            }
        }
    }

    // MARK: Codes and names of customers

    /// A code is six ASCII digits, between which a keyboard may have put white space.
    @Test func aTypedCodeIsItsDigits() throws {
        var random = SplitMix(seed: 6)
        for _ in 0..<5_000 {
            let digits = (0..<random.within(4...8)).map { _ in String(random.below(10)) }
            let spaces = ["", "", " ", "\u{A0}", "\u{2009}", "\n", "\u{3000}"]
            let text = digits.map { random.pick(spaces)! + $0 }.joined() + random.pick(spaces)!
            let read = try? TypedCode.read(.value(text))
            #expect(read == (digits.count == 6 ? digits.joined() : nil), "\(text)")
            let scalar = random.pick(Self.foreign.filter { !$0.properties.isWhitespace })!
            #expect(throws: RuleError(.notSixDigits)) {
                try TypedCode.read(.value(text + String(Character(scalar))))
            }
        }
    }

    @Test func aNameIsKeptByteForByteOrRefused() {
        var random = SplitMix(seed: 100)
        var accepted = 0
        for _ in 0..<3_000 {
            let text = GeneratedText(scalarsMax: 100, using: &random)
            let name = text.trimmed
            do throws(RuleError) {
                let details = try BasicDetails(name: .value(text.text), email: .value("a@b.c"))
                #expect(name.isDisplayable && (2...100).contains(name.scalarCount), "\(text)")
                #expect(Array(details.name.utf8) == Array(name.text.utf8), "\(text)")
                accepted += 1
            } catch {
                #expect(!name.isDisplayable || !(2...100).contains(name.scalarCount), "\(text)")
                #expect(error.text.hasPrefix("Expected name to "), "\(text)")
            }
        }
        #expect(accepted > 500)
    }
}
