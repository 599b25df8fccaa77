import HTTPClient
import Testing

@Suite struct GetTests {
    @Test(arguments: [
        ("https://issuer.example/keys", "https"), ("https://127.0.0.1:8443/", "https"), ("HTTPS://issuer.example", "https"),
        ("http://127.0.0.1:8080/keys", "http"), ("http://[::1]:8080/keys", "http"), ("http://localhost/keys?a=b#c", "http"),
    ]) func genuineSourcesAreAllowed(url: String, scheme: String) throws {
        #expect(try Get.check(url) == scheme)
    }

    @Test(arguments: [
        "", "keys", "/keys", "issuer.example/keys", "http://issuer.example/keys", "http://127.0.0.1.evil.example/",
        "http://127.0.0.1@evil.example/", "http://evil.example#@127.0.0.1/", "http://evil.example\\@127.0.0.1/",
        "http://127.0.0.2/", "http://[::2]/", "http://localhost.evil.example/", "http://0.0.0.0/", "http://169.254.169.254/",
        "https://user@issuer.example/", "https://user:secret@issuer.example/", "file:///etc/passwd", "ftp://127.0.0.1/",
        "gopher://localhost/", "https://", "https:// issuer.example/", "https://issuer.example/\0.evil.example",
        "http://127.0.0.1:99999/", "http://localhost\n.evil.example/",
    ]) func everythingElseIsRefusedBeforeAConnection(url: String) {
        #expect(throws: Get.Failure.self) { try Get.bytes(from: url, timeoutSeconds: 1) }
        #expect(throws: Get.Failure.self) { try Get.check(url) }
    }

    @Test func nobodyAnsweringIsAFailureWithWords() {
        // Port 1 of this machine: nobody listens there.
        #expect(throws: Get.Failure.self) { try Get.bytes(from: "http://127.0.0.1:1/keys", timeoutSeconds: 5) }
        do { _ = try Get.bytes(from: "http://127.0.0.1:1/keys", timeoutSeconds: 5) } catch {
            #expect(error.description.hasPrefix("http://127.0.0.1:1/keys: "))
        }
    }
}
