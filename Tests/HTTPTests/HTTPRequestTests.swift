import HTTP
import TestSupport
import Testing

@Suite struct HTTPRequestTests {
    private func path(_ target: String) -> String { RawRequest(.get, target).withRequest { $0.path } }

    private func query(_ query: String) -> String {
        RawRequest(.get, "/?" + query).withRequest { request in
            request.query.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
        }
    }

    @Test func decodesThePathAndNormalizesNothing() {
        #expect(path("/a%20b%2Fc/%C3%BC%252e") == "/a b/c/ü%2e")
        #expect(path("/a+b;c=d,e@f") == "/a+b;c=d,e@f")
        #expect(path("//a/../b/./%2e%2E/") == "//a/../b/./../")
        #expect(path("/?a") == "/" && path("/a?b?c") == "/a")
    }

    @Test func decodesTheQueryInOrder() {
        #expect(query("b=1&a=2&b=3") == "b=1|a=2|b=3")
        #expect(query("a=x+y%2Bz%20%26%3D") == "a=x y+z &=")
        #expect(query("%61+b=1") == "a b=1")
        #expect(query("a&b=&=c&=") == "a=|b=|=c|=")
        #expect(query("&&a=1&&") == "a=1" && query("") == "")
        #expect(query("a=1=2;b=3?c") == "a=1=2;b=3?c")
        #expect(query("a=%FF%C3") == "a=\u{FFFD}\u{FFFD}")
    }

    /// The characters include the neighbours of `&`, `=`, `%` and `+`.
    @Test func longQueriesAreSplitLikeShortOnes() {
        var random = SplitMix(seed: 1)
        for _ in 0..<500 {
            let pieces = ["&", "=", "a", "'", "$", "<", ">", "+", "*", ",", "%26", "%3d", "%2B", "bcdefghijkl"]
            let text = (0..<random.below(30)).map { _ in random.pick(pieces) ?? "" }.joined()
            let expected = text.split(separator: "&").map { parameter in
                let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return parts.map { $0.replacing("+", with: " ").replacing("%26", with: "&").replacing("%3d", with: "=") }
                    .map { $0.replacing("%2B", with: "+") }.joined(separator: "=") + (parts.count == 1 ? "=" : "")
            }
            #expect(query(text) == expected.joined(separator: "|"), "\(text)")
        }
    }

    @Test func findsTheFirstParameterOfAName() {
        RawRequest(.get, "/?x=0&a%62=1&ab=2&c").withRequest { request in
            #expect(request.queryValue("ab") == "1" && request.queryValue("c") == "")
            #expect(request.queryValue("a") == nil && request.queryValue("abc") == nil && request.queryValue("") == nil)
        }
    }

    @Test func removesAPrefixOfThePath() {
        func path(_ target: String, without prefix: String) -> String {
            RawRequest(.get, target).withRequest { request in
                var head = request.head
                head.removePathPrefix(Array(prefix.utf8), from: request.bytes)
                return String(decoding: request.bytes[head.path], as: UTF8.self) + "|"
                    + String(decoding: request.bytes[head.query], as: UTF8.self)
            }
        }
        #expect(path("/ws/app/key1?a=b", without: "/ws") == "/app/key1|a=b" && path("/ws/", without: "/ws") == "/|")
        #expect(path("/a/b/healthz", without: "/a/b") == "/healthz|" && path("/ws/ws/x", without: "/ws") == "/ws/x|")
        for target in ["/ws", "/wsx/app", "/w", "/", "/WS/app", "/x/ws/app", "//ws/app", "/%77s/app"] {
            #expect(path(target, without: "/ws") == target + "|", "\(target)")
        }
        #expect(path("/ws/app", without: "") == "/ws/app|")
    }

    /// Backends write error texts to their logs.
    @Test func textsOfResponsesHaveNoControlCharacters() {
        let response = HTTPResponse.text(404, "Unknown path: /x\u{1B}[31m\nforged\u{202E}\u{85}é")
        #expect(
            String(decoding: response.body, as: UTF8.self)
                == "Unknown path: /x\\u{1b}[31m\\u{a}forged\\u{202e}\\u{85}é\n")
    }

    @Test func showsTargetAndBodyAsSent() {
        RawRequest(.put, "/a%20b?c=%2f", body: Array("body".utf8)).withRequest(isLoopback: true) { request in
            #expect(request.method == .put && request.correlationID == "c1" && request.isLoopback)
            #expect(request.rawPath.elementsEqual("/a%20b".utf8) && request.rawQuery.elementsEqual("c=%2f".utf8))
            #expect(request.body.elementsEqual("body".utf8))
        }
    }

    @Test func fieldsAreTrimmedAndFoundInAnyCase() {
        let fields = [(name: "AUTHORIZATION", value: " \t Bearer x \t"), ("origin", "https://a"), ("Cookie", ""), ("Other", "x")]
        RawRequest(.get, "/", fields: fields).withRequest { request in
            #expect(request.authorization == "Bearer x" && request.origin == "https://a")
            #expect(request.field(.cookie) == "" && request.field(.ifMatch) == nil && request.field(.host) == "localhost")
        }
    }

    @Test func repeatedFieldsAreOneListInOrder() {
        let fields = [
            (name: "X-Forwarded-For", value: "1.1.1.1 "), ("Cookie", "a: b"), ("x-forwarded-for", "2.2.2.2, 3.3.3.3"),
            ("X-Forwarded-Fo", "no"), ("If-Match", "1"), ("X-FORWARDED-FOR", "4.4.4.4"),
        ]
        RawRequest(.get, "/", fields: fields).withRequest { request in
            #expect(request.field(.xForwardedFor) == "1.1.1.1, 2.2.2.2, 3.3.3.3, 4.4.4.4")
            #expect(request.field(.ifMatch) == "1" && request.field(.cookie) == "a: b")
        }
    }

    @Test func nameAndNumberOfEachFieldAreConsistent() {
        for field in HTTPRequest.Field.allCases {
            let name = "\(field.name)"
            for text in [name, name.uppercased()] {
                #expect(Array(text.utf8).withUnsafeBytes { HTTPRequest.Field(name: $0) } == field)
            }
            for text in [name + "s", String(name.dropLast()), "z" + name.dropFirst(), name.dropLast() + "\u{1}"] {
                #expect(Array(text.utf8).withUnsafeBytes { HTTPRequest.Field(name: $0) } == nil, "\(text)")
            }
            var head = RequestHead()
            #expect(head.add(ByteRange(3..<5), for: field) && !head.add(ByteRange(6..<7), for: field))
            #expect(head[field] == ByteRange(3..<5))
            #expect(HTTPRequest.Field.allCases.filter { head[$0] != nil } == [field])
        }
    }

    @Test func deferredRequestIsTheSameRequest() {
        let fields = HTTPRequest.Field.allCases.filter { ![.contentLength, .transferEncoding].contains($0) }
            .map { (name: $0 == .host ? "Host" : "\($0.name)", value: "value-\($0.rawValue)") }
        let raw = RawRequest(.post, "/a%20b?c=1&d=+", fields: fields + [("If-Match", "second")], body: Array("body".utf8))
        raw.withRequest(correlationID: "c2", isLoopback: true) { request in
            let deferred = DeferredRequest(request)
            for _ in 0..<2 {
                deferred.withRequest { copy in
                    #expect(copy.method == .post && copy.path == "/a b" && copy.queryValue("d") == " ")
                    #expect(HTTPRequest.Field.allCases.allSatisfy { copy.field($0) == request.field($0) })
                    #expect(copy.correlationID == "c2" && copy.isLoopback && copy.body.isEmpty)
                    #expect(copy.bytes.count == request.head.byteCount)
                }
            }
            deferred.withRequest(body: request.body) { #expect($0.body.elementsEqual("body".utf8)) }
        }
    }
}
