import Fleet
import Primitives
import Testing

@Suite struct DeviceTokenTests {
    private func isRejected(_ body: () throws(RuleError) -> DeviceToken) -> Bool {
        do throws(RuleError) {
            _ = try body()
            return false
        } catch {
            return error.kind == .invalid
        }
    }

    @Test func acceptsAPNsTokensOf16To400Digits() throws {
        for count in [16, 64, 160, 400] {
            let token = try DeviceToken.apns(String(repeating: "aF", count: count / 2), .sandbox)
            #expect(token.text == String(repeating: "af", count: count / 2))
            #expect(token.lane == .apnsSandbox && token.platform == .ios)
        }
        #expect(try DeviceToken.apns("0123456789abcdef").lane == .apns)
    }

    @Test(arguments: [
        "", "ab", "0123456789abcd", "0123456789abcdeff", String(repeating: "a", count: 402), "0123456789abcdeg",
        "0123456789abcd\u{301}", "\u{FF10}123456789abcdef0", "0123456789abcde\n",
        String(repeating: "abc", count: 21), String(repeating: "xy", count: 32), String(repeating: "ab ", count: 22),
        String(repeating: "ab", count: 16) + "g0", String(repeating: "\u{FF10}", count: 32),
    ])
    func rejectsInvalidAPNsTokens(_ text: String) {
        #expect(isRejected { () throws(RuleError) in try DeviceToken.apns(text) })
    }

    @Test func acceptsFCMTokensOf1To4096PrintableASCIICharacters() throws {
        let token = try DeviceToken.fcm("dXz:APA91b_-", .android)
        #expect(token.lane == .fcm && token.environment == nil && token.platform == .android)
        #expect(try DeviceToken.fcm(String(repeating: "x", count: 4_096)).platform == nil)
        for text in ["", String(repeating: "x", count: 4_097), "a b", "a\tb", "a🚚", "a\n", "a\u{0}", "é", "a\u{7F}"] {
            #expect(isRejected { () throws(RuleError) in try DeviceToken.fcm(text) })
        }
    }

    @Test func refusesWordsForNoToken() throws {
        for text in ["null", "(null)", "undefined", "None", "NULL", "nil", "NaN", "Optional(nil)"] {
            #expect(throws: RuleError(.absentFCMToken, text)) { try DeviceToken.fcm(text) }
        }
        for text in ["null:APA91b", "nulls", "None-", "undefined1", "(null"] { #expect(try DeviceToken.fcm(text).text == text) }
    }

    @Test func maskingShowsOnlyTheEnds() throws {
        #expect(try DeviceToken.apns("a1b2000000009f0e").masked == "a1b2…9f0e")
        #expect(try DeviceToken.fcm("0123456789").masked == "0…9")
    }
}
