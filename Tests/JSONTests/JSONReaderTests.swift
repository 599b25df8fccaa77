import TestSupport
import Testing

@testable import JSON

/// The grammar of RFC 8259, clause by clause. JSONReaderTests+Strings.swift tests the content of strings, and
/// JSONReaderTests+Random.swift random texts.
@Suite struct JSONReaderTests {
    struct Accepted: Sendable {
        let text: String
        let kind: JSONSlice.Kind

        init(_ text: String, _ kind: JSONSlice.Kind) {
            self.text = text
            self.kind = kind
        }
    }

    static let accepted = [
        Accepted("true", .boolean), Accepted("false", .boolean), Accepted("null", .null),
        Accepted("0", .number), Accepted("-0", .number), Accepted("7", .number), Accepted("-7", .number),
        Accepted("10", .number), Accepted("1234567890123456789012345678901234567890", .number),
        Accepted("0.0", .number), Accepted("-0.05", .number), Accepted("3.14159", .number),
        Accepted("0e0", .number), Accepted("1e5", .number), Accepted("1E5", .number), Accepted("1e+5", .number),
        Accepted("1E-05", .number), Accepted("-1.5e300", .number), Accepted("1e9999", .number),
        Accepted(#""""#, .string), Accepted(#""a""#, .string), Accepted(#""{[]},:""#, .string),
        Accepted(#""\"\\\/\b\f\n\r\t\u0000\uFFFF\uabcd""#, .string), Accepted("\"\u{7F}\"", .string),
        Accepted("{}", .object), Accepted("{ \t\n\r}", .object), Accepted(#"{"":0}"#, .object),
        Accepted(#"{"a" : {"a" : [ ] } , "a":null}"#, .object),
        Accepted("[]", .array), Accepted("[ \t\n\r]", .array), Accepted("[0,[0 , {}],\"\"]", .array),
    ]

    @Test(arguments: accepted) func yieldsEveryKindOfValueAsWritten(value: Accepted) throws {
        for space in ["", " ", "\t", "\n", "\r", " \r\n\t\t\n\r "] {
            let elements = try JSONValue.elements(of: "\(space)[\(space)\(value.text)\(space),\(space)1\(space)]\(space)")
            #expect(elements.map(\.kind) == [value.kind, .number])
            #expect(elements.map(\.raw) == [Array(value.text.utf8), [UInt8(ascii: "1")]])

            let members = try JSONValue.members(of: "\(space){\(space)\"k\"\(space):\(space)\(value.text)\(space)}\(space)")
            #expect(members.map(\.kind) == [value.kind])
            #expect(members.map(\.raw) == [Array(value.text.utf8)])
            #expect(members.map(\.key) == [Array(#""k""#.utf8)])
        }
    }

    struct Rejected: Sendable {
        let text: String
        let problem: String
        let offset: Int

        init(_ text: String, _ problem: String, at offset: Int) {
            self.text = text
            self.problem = problem
            self.offset = offset
        }
    }

    static let rejected = [
        // Texts that are not exactly one array.
        Rejected("", "expected an array", at: 0), Rejected(" \n", "expected an array", at: 2),
        Rejected("{}", "expected an array", at: 0), Rejected("1", "expected an array", at: 0),
        Rejected(#"  "[]""#, "expected an array", at: 2), Rejected(" \u{FEFF}[]", "expected an array", at: 1),
        Rejected("\u{FEFF}\u{FEFF}[]", "expected an array", at: 3), Rejected("\u{FEFF}", "expected an array", at: 3),
        Rejected("[\u{FEFF}]", "expected a value", at: 1), Rejected("[]\u{FEFF}", "unexpected text after the value", at: 2),
        Rejected("\u{C}[]", "expected an array", at: 0), Rejected("\u{B}[]", "expected an array", at: 0),
        Rejected("\u{A0}[]", "expected an array", at: 0), Rejected("\0[]", "expected an array", at: 0),
        Rejected("[]]", "unexpected text after the value", at: 2), Rejected("[] []", "unexpected text after the value", at: 3),
        Rejected("[],", "unexpected text after the value", at: 2), Rejected("[]\0", "unexpected text after the value", at: 2),
        Rejected("[] // why", "unexpected text after the value", at: 3),
        // Structure.
        Rejected("[", "expected a value", at: 1), Rejected("[1", "expected ',' or ']'", at: 2),
        Rejected("[1,", "expected a value", at: 3), Rejected("[1,]", "expected a value", at: 3),
        Rejected("[,1]", "expected a value", at: 1), Rejected("[1 2]", "expected ',' or ']'", at: 3),
        Rejected("[1;2]", "expected ',' or ']'", at: 2), Rejected("[1}", "expected ',' or ']'", at: 2),
        Rejected("[1:2]", "expected ',' or ']'", at: 2), Rejected("[/**/]", "expected a value", at: 1),
        Rejected("[\u{C}]", "expected a value", at: 1),
        Rejected("[{]", "expected a member's name", at: 2), Rejected("[{1:2}]", "expected a member's name", at: 2),
        Rejected("[{a:2}]", "expected a member's name", at: 2), Rejected("[{'a':2}]", "expected a member's name", at: 2),
        Rejected(#"[{"a"}]"#, "expected ':'", at: 5), Rejected(#"[{"a",1}]"#, "expected ':'", at: 5),
        Rejected(#"[{"a":}]"#, "expected a value", at: 6), Rejected(#"[{"a"::1}]"#, "expected a value", at: 6),
        Rejected(#"[{"a":1,}]"#, "expected a member's name", at: 8),
        Rejected(#"[{,"a":1}]"#, "expected a member's name", at: 2),
        Rejected(#"[{"a":1 "b":2}]"#, "expected ',' or '}'", at: 8), Rejected(#"[{"a":1]"#, "expected ',' or '}'", at: 7),
        Rejected(#"[{"a":1"#, "expected ',' or '}'", at: 7),
        // Literals.
        Rejected("[tru]", "expected a value", at: 1), Rejected("[tru", "expected a value", at: 1),
        Rejected("[True]", "expected a value", at: 1), Rejected("[fals ]", "expected a value", at: 1),
        Rejected("[nul", "expected a value", at: 1), Rejected("[nulll]", "expected ',' or ']'", at: 5),
        Rejected("[undefined]", "expected a value", at: 1),
        // Numbers.
        Rejected("[-]", "expected a value", at: 1), Rejected("[+1]", "expected a value", at: 1),
        Rejected("[--1]", "expected a value", at: 1), Rejected("[.5]", "expected a value", at: 1),
        Rejected("[-.5]", "expected a value", at: 1), Rejected("[01]", "expected ',' or ']'", at: 2),
        Rejected("[-01]", "expected ',' or ']'", at: 3), Rejected("[00]", "expected ',' or ']'", at: 2),
        Rejected("[1.]", "expected digits after '.'", at: 3), Rejected("[1.e5]", "expected digits after '.'", at: 3),
        Rejected("[1.5.5]", "expected ',' or ']'", at: 4), Rejected("[1e]", "expected digits in the exponent", at: 3),
        Rejected("[1e+]", "expected digits in the exponent", at: 4),
        Rejected("[1E-", "expected digits in the exponent", at: 4),
        Rejected("[1e+-5]", "expected digits in the exponent", at: 4),
        Rejected("[1e5.5]", "expected ',' or ']'", at: 4), Rejected("[1e5e5]", "expected ',' or ']'", at: 4),
        Rejected("[0x10]", "expected ',' or ']'", at: 2), Rejected("[1_000]", "expected ',' or ']'", at: 2),
        Rejected("[NaN]", "expected a value", at: 1), Rejected("[Infinity]", "expected a value", at: 1),
        Rejected("[-Infinity]", "expected a value", at: 1), Rejected("[\u{661}]", "expected a value", at: 1),
    ]

    /// RFC 8259 section 8.1: some encoders write one, such as those of .NET.
    @Test func ignoresAByteOrderMark() throws {
        #expect(try JSONValue.elements(of: "\u{FEFF}[1,2]").count == 2 && JSONValue.elements(of: "\u{FEFF} \n[]").isEmpty)
    }

    @Test(arguments: rejected) func rejectsInvalidArraysWithTheOffset(row: Rejected) {
        #expect(throws: JSONError(problem: row.problem, offset: row.offset)) { try JSONValue.elements(of: row.text) }
    }

    @Test func rejectsTextsThatAreNotAnObject() {
        for text in ["", "[]", #""{}""#, "null", "1"] {
            #expect(throws: JSONError(problem: "expected an object", offset: 0)) { try JSONValue.members(of: text) }
        }
        #expect(throws: JSONError(problem: "unexpected text after the value", offset: 2)) { try JSONValue.members(of: "{}{}") }
    }

    @Test func rejectsEveryTruncatedText() throws {
        let text = Array(#"{"event":"a\u00e9é","data":{"x":[1.5e+3,true,null],"y":"z"},"n":-0}"#.utf8)
        #expect(try JSONValue.members(of: text).count == 3)
        for length in 0..<text.count {
            #expect(throws: JSONError.self, "\(length) bytes") { try JSONValue.members(of: Array(text.prefix(length))) }
        }
    }

    @Test func rejectsAnEmptyBuffer() {
        #expect(throws: JSONError(problem: "expected an object", offset: 0)) {
            try JSONReader.object(UnsafeRawBufferPointer(start: nil, count: 0)) { _, _ in }
        }
    }

    @Test func yieldsMembersInTheOrderWrittenIncludingDuplicates() throws {
        let members = try JSONValue.members(of: #"{"b":1,"a":2,"b":3}"#)
        #expect(members.map { String(decoding: $0.key + $0.raw, as: UTF8.self) } == [#""b"1"#, #""a"2"#, #""b"3"#])
    }

    @Test func stopsAtTheFirstErrorOfTheClosureAndRethrowsIt() {
        struct Enough: Error, Equatable {}
        var seen = 0
        #expect(throws: Enough()) {
            try Array("[1,2,3]".utf8).withUnsafeBytes { bytes in
                try JSONReader.array(bytes) { _ in
                    seen += 1
                    if seen == 2 { throw Enough() }
                }
            }
        }
        #expect(seen == 2)
    }

    // MARK: Tokens

    /// The parts of a text, one word each.
    private func tokens(_ json: String) throws -> [String] {
        var parts: [String] = []
        try Array(json.utf8).withUnsafeBytes { bytes in
            try JSONReader.tokens(bytes) { token in
                switch token {
                case .objectStart: parts.append("{")
                case .objectEnd: parts.append("}")
                case .arrayStart: parts.append("[")
                case .arrayEnd: parts.append("]")
                case .name(let name): parts.append(String(decoding: name.raw, as: UTF8.self) + ":")
                case .scalar(let value): parts.append(String(decoding: value.raw, as: UTF8.self))
                }
            }
        }
        return parts
    }

    @Test func yieldsTokensInOrder() throws {
        #expect(
            try tokens(#" {"a" : [1, {"b":null}, [] ], "c":{ }, "\n":"d"} "#) == [
                "{", #""a":"#, "[", "1", "{", #""b":"#, "null", "}", "[", "]", "]", #""c":"#, "{", "}", #""\n":"#, #""d""#, "}",
            ])
        #expect(try tokens("1.5e3") == ["1.5e3"] && tokens(#""a""#) == [#""a""#] && tokens("[]") == ["[", "]"])
    }

    @Test(arguments: [
        "", "[", "[1", "[1,", "[,1]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "[1}", #"{"a":1]"#, "[] []", "[1 2]", "{1:2}",
    ])
    func rejectsInvalidTokens(json: String) {
        #expect(throws: JSONError.self) { try tokens(json) }
    }

    // MARK: Depth

    /// `depth` nested containers, with `inside` in the innermost.
    private static func nested(_ depth: Int, open: String, close: String, inside: String) -> String {
        String(repeating: open, count: depth) + inside + String(repeating: close, count: depth)
    }

    @Test func acceptsSixtyFourNestedContainers() throws {
        for inside in ["", "1", #""a""#] {
            let arrays = Self.nested(JSONReader.depthMax, open: "[", close: "]", inside: inside)
            #expect(try JSONValue.elements(of: arrays).count == 1)
        }
        let objects = Self.nested(JSONReader.depthMax - 1, open: #"{"a":"#, close: "}", inside: "{}")
        #expect(try JSONValue.members(of: objects).count == 1)
    }

    @Test func rejectsTheSixtyFifthNestedContainer() {
        let problem = "nested deeper than 64 levels"
        for inside in ["", "1", #""a""#] {
            let arrays = Self.nested(JSONReader.depthMax + 1, open: "[", close: "]", inside: inside)
            #expect(throws: JSONError(problem: problem, offset: 64)) { try JSONValue.elements(of: arrays) }
        }
        let objects = Self.nested(JSONReader.depthMax, open: #"{"a":"#, close: "}", inside: "{}")
        #expect(throws: JSONError(problem: problem, offset: 64 * 5)) { try JSONValue.members(of: objects) }
    }

    @Test func survivesHostileDepth() {
        #expect(throws: JSONError.self) { try JSONValue.elements(of: String(repeating: "[", count: 1_000_000)) }
        #expect(throws: JSONError.self) { try JSONValue.members(of: String(repeating: #"{"":"#, count: 1_000_000)) }
    }

    @Test func siblingsDoNotAddDepth() throws {
        let arrays = "[" + Array(repeating: "[[]]", count: 200).joined(separator: ",") + "]"
        #expect(try JSONValue.elements(of: arrays).count == 200)
    }
}
