import Crypto
import Testing
import WebSocketFraming

@Suite struct WebSocketUpgradeTests {
    private func upgrade(version: String? = "13", key: String? = "dGhlIHNhbXBsZSBub25jZQ==") -> WebSocketUpgrade {
        withBytes(version) { version in withBytes(key) { key in WebSocketUpgrade(version: version, key: key) } }
    }

    private func withBytes<Result>(_ text: String?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let text else { return body(nil) }
        return Array(text.utf8).withUnsafeBytes { body($0) }
    }

    @Test func acceptsTheExampleOfTheRFC() {
        guard case .accepted(let acceptText) = upgrade() else {
            Issue.record("the upgrade was not accepted")
            return
        }
        #expect(Base64.text(SHA1.digest(of: acceptText)) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test(arguments: [nil, "", "8", "0", "12", "14", "113", "013", "13, 8", "x", "1３"])
    func supportsVersion13Only(version: String?) {
        #expect(upgrade(version: version) == .unsupportedVersion)
    }

    @Test(arguments: [
        nil, "", "=", "==", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ===", "dGhlIHNhbXBsZSBub25jZTE=",
        "dGhlIHNhbXBsZSBub25jZTEy", "dGhlIHNhbXBsZSBub25jZ===", "dGhlIHNhbXBsZSBub25jZ-==", "dGhlIHNhbXBsZSBub25jZ_==",
        "dGhlIHNhbXBsZSB b25jZQ==", "dGhlIHNhbXBsZSBub25\u{E9}Q==", "dGhlIHNhbXBsZSBub25jZQdGhlIHNhbXBsZSBub25jZQ==",
    ]) func requiresAKeyOf16BytesInBase64(key: String?) {
        #expect(upgrade(key: key) == .invalidKey)
    }

    @Test(arguments: ["AAAAAAAAAAAAAAAAAAAAAA==", "////////////////////+w==", "zZ09zZ09zZ09zZ09zZ09zg=="])
    func acceptsEveryDigit(key: String) {
        #expect(upgrade(key: key) == .accepted(acceptText: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }
}
