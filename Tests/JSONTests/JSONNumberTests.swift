import JSON
import Testing

@Suite struct JSONNumberTests {
    private func firstInfinite(_ json: String) -> String? {
        Array(json.utf8).withUnsafeBytes { JSONNumber.firstInfinite(in: $0)?.text }
    }

    @Test(
        "Finds the first number that no double holds, at any depth",
        arguments: [
            (#"{"a":1e999}"#, "1e999"), (#"{"a":[1,{"b":-1E+400}],"c":1e309}"#, "-1E+400"), ("1e309", "1e309"),
            (#"["\"",1e999,"x"]"#, "1e999"), (#"{"\\":1e999}"#, "1e999"), (#"{"1e999":[0,1.5e309]}"#, "1.5e309"),
        ])
    func infinite(json: String, expected: String) { #expect(firstInfinite(json) == expected) }

    @Test(
        "Ignores numbers that fit, and text that looks like a number",
        arguments: [
            "{}", "[]", "0", #"{"a":1.7976931348623157e308,"b":-0,"c":1e-999,"d":123456789012345678901234567890}"#,
            #"{"1e999":"1e999"}"#, #"["\"1e999","1e999\\","\u00311e999"]"#, #"{"a":[true,false,null,"é"]}"#,
        ])
    func finite(json: String) { #expect(firstInfinite(json) == nil) }

    @Test func aLongIntegerMayNotFit() {
        let digits = String(repeating: "9", count: 400)
        #expect(firstInfinite("[\(digits)]") == digits)
    }
}
