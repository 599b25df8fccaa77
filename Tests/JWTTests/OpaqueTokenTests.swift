import Testing

@testable import JWT

@Suite struct OpaqueTokenTests {
    @Test(arguments: [
        "a", "customer_session_1", "12|sanctum", "a.b", "a.b.c.d", "....", "a/b+c==", String(repeating: "x", count: 4_096),
    ])
    func isWhatHasNotTwoDots(text: String) throws {
        let token = try #require(OpaqueToken(text))
        #expect(token.text == text && token.digest.count == 32)
        #expect(token.digest != OpaqueToken(text.dropLast() + "~")?.digest)
    }

    @Test(arguments: ["", "a.b.c", "..", "a b", "a\tb", "a\u{0}", "é", "a\n", String(repeating: "x", count: 4_097)])
    func isNoJWTAndNothingThatCannotBeAToken(text: String) { #expect(OpaqueToken(text) == nil) }

    // MARK: The question

    @Test func asksByAFormAndABasicPassword() throws {
        let request = IntrospectionRequest(
            try #require(OpaqueToken("1|a+b/c=&%~")), clientID: "fleet wire", clientSecret: "s:%é")
        #expect(String(decoding: request.body, as: UTF8.self) == "token=1%7Ca%2Bb%2Fc%3D%26%25%7E")
        // fleet+wire:s%3A%25%C3%A9, by another encoder
        #expect(
            request.headers == [
                .init(name: "Content-Type", value: "application/x-www-form-urlencoded"),
                .init(name: "Accept", value: "application/json"),
                .init(name: "Authorization", value: "Basic ZmxlZXQrd2lyZTpzJTNBJTI1JUMzJUE5"),
            ])
    }

    @Test func asksWithoutAPasswordIfThereIsNone() throws {
        let request = IntrospectionRequest(try #require(OpaqueToken("a")), clientID: "", clientSecret: "")
        #expect(request.headers.allSatisfy { $0.name != "Authorization" })
    }
}
