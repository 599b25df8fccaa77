import JSON
import TestSupport
import Testing

@Suite struct HiddenMembersTests {
    private func hiding(_ names: [String], in text: String) throws -> String {
        String(decoding: try Array(text.utf8).withUnsafeBytes { try HiddenMembers.nulling(names, in: $0) }, as: UTF8.self)
    }

    @Test(
        "the values of hidden members are null, at any depth; all else stays as it is",
        arguments: [
            (#"{"a":1,"b":"x"}"#, #"{"a":1,"b":null}"#),
            (#"{ "b" : {"b": [1, {"c": 2}]}, "c" : 3 }"#, #"{"b":null,"c":3}"#),
            (#"[{"b":1},{"a":{"b":[]}},"b"]"#, #"[{"b":null},{"a":{"b":null}},"b"]"#),
            (#"{"\u0062":1,"B":2,"b ":3}"#, #"{"\u0062":null,"B":2,"b ":3}"#),
            (#"{"b":null}"#, #"{"b":null}"#), (#"{"a":"b"}"#, #"{"a":"b"}"#), ("{}", "{}"), ("[]", "[]"), (#""b""#, #""b""#),
            (#"{"a":[],"b":{},"d":[[],{}]}"#, #"{"a":[],"b":null,"d":[[],{}]}"#), ("1e2", "1e2"),
        ])
    func hides(text: String, expected: String) throws {
        #expect(try hiding(["b"], in: text) == expected)
    }

    @Test("without hidden members only white space goes, and the result has the same canonical form")
    func keepsTheRest() throws {
        var random = SplitMix(seed: 36)
        for _ in 0..<500 {
            let text = Self.value(depth: 0, &random)
            let hidden = try hiding(["none"], in: text)
            let canonical = try [text, hidden].map { text in try Array(text.utf8).withUnsafeBytes(CanonicalJSON.bytes) }
            #expect(canonical[0] == canonical[1], "\(text)")
            let masked = try hiding(["m0", "m1"], in: text)
            #expect(try hiding(["m0", "m1"], in: masked) == masked, "twice is once: \(text)")
        }
    }

    private static func value(depth: Int, _ random: inout SplitMix) -> String {
        let count = random.below(4)
        switch random.below(depth > 4 ? 2 : 4) {
        case 0: return ["1", "-2.5e3", "true", "null"][random.below(4)]
        case 1: return [#""""#, #""m0""#, #""\"{[,:""#][random.below(3)]
        case 2: return "[ " + (0..<count).map { _ in value(depth: depth + 1, &random) }.joined(separator: " , ") + "]"
        default:
            let members = (0..<count).map { "\"m\($0)\": " + value(depth: depth + 1, &random) }
            return "{" + members.joined(separator: ",\n") + " }"
        }
    }

    @Test("what is no JSON is refused", arguments: ["", "{", #"{"b":}"#, #"{"b":1}}"#, "b"])
    func refuses(text: String) {
        #expect(throws: JSONError.self) { try hiding(["b"], in: text) }
    }
}
