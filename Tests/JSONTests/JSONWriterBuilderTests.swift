import Testing

@testable import JSON

@Suite struct JSONWriterBuilderTests {
    private func written(_ write: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter(capacity: 0)
        write(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test func writesEmptyObjectsAndArrays() {
        #expect(written { $0.object { _ in } } == "{}")
        #expect(written { $0.array { _ in } } == "[]")
        #expect(written { $0.array([]) } == "[]")
        let nested = written {
            $0.object {
                $0.member("a") { _ in }
                $0.member("b", [String]())
                $0.member("c", true)
            }
        }
        #expect(nested == #"{"a":{},"b":[],"c":true}"#)
    }

    @Test func writesMembersOfEveryKind() {
        let number = JSONNumber(text: "1.50")
        let text = written {
            $0.object {
                $0.member("string", "a\"b")
                $0.member("int", -1)
                $0.member("int64", Int64.min)
                $0.member("uint64", UInt64.max)
                $0.member("bool", false)
                $0.member("number", number)
                $0.member("strings", ["{", "[", ","])
                $0.member("bytes", json: Array(#"{"x":1}"#.utf8))
                $0.member("time", time: 1_000)
                $0.member("object") { $0.member("y", 2) }
                $0.member("objects", [3, 4]) { json, value in json.object { $0.member("z", value) } }
                $0.key("any")
                $0.array { json in
                    json.element()
                    json.raw("null")
                    json.element()
                    json.boolean(true)
                }
                $0.key("k\n")
                $0.integer(5)
            }
        }
        #expect(
            text == #"{"string":"a\"b","int":-1,"int64":-9223372036854775808,"uint64":18446744073709551615,"bool":false,"#
                + #""number":1.50,"strings":["{","[",","],"bytes":{"x":1},"time":"1970-01-01T00:00:01.000Z","#
                + #""object":{"y":2},"objects":[{"z":3},{"z":4}],"any":[null,true],"k\n":5}"#)
    }

    @Test func writesNullForNil() {
        let text = written {
            $0.object {
                $0.member("string", nil as String?)
                $0.member("int", nil as Int?)
                $0.member("int64", nil as Int64?)
                $0.member("bool", nil as Bool?)
                $0.member("number", nil as JSONNumber?)
                $0.member("time", time: nil)
            }
        }
        #expect(text == #"{"string":null,"int":null,"int64":null,"bool":null,"number":null,"time":null}"#)
    }

    @Test func leavesOutMembersThatAreNil() {
        let absent = written {
            $0.object {
                $0.member("string", ifPresent: nil as String?)
                $0.member("int", ifPresent: nil as Int?)
                $0.member("bool", ifPresent: nil as Bool?)
                $0.member("number", ifPresent: nil as JSONNumber?)
                $0.member("bytes", jsonIfPresent: nil)
            }
        }
        #expect(absent == "{}")
        let present = written {
            $0.object {
                $0.member("string", ifPresent: "a")
                $0.member("int", ifPresent: 1)
                $0.member("bool", ifPresent: true)
                $0.member("number", ifPresent: JSONNumber(text: "2e3"))
                $0.member("bytes", jsonIfPresent: Array("[]".utf8))
            }
        }
        #expect(present == #"{"string":"a","int":1,"bool":true,"number":2e3,"bytes":[]}"#)
    }

    /// Members can be written without braces around them, to be copied into an object later.
    @Test func writesMembersWithoutBraces() {
        #expect(written { $0.member("a", 1) } == #""a":1"#)
        let text = written {
            $0.member("a", 1)
            $0.member("b", 2)
        }
        #expect(text == #""a":1,"b":2"#)
    }

    /// The writer omits the comma if the last byte is an opening brace or bracket. A string that ends with a brace does
    /// not cause that: the string's closing quote follows the brace.
    @Test func separatesAfterStringsThatEndWithBraces() {
        let text = written {
            $0.object {
                $0.member("{", "{")
                $0.member("[", "[")
            }
        }
        #expect(text == #"{"{":"{","[":"["}"#)
    }

    @Test func rethrowsErrorsOfTheClosures() {
        struct Failure: Error {}
        var json = JSONWriter()
        #expect(throws: Failure.self) {
            try json.object { json throws(Failure) in
                json.key("a")
                try json.array([1]) { _, _ throws(Failure) in throw Failure() }
            }
        }
    }
}
