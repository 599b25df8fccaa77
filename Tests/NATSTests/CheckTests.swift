import NATS
import Testing

@testable import NATS

@Suite struct CheckTests {
    private func options(_ server: String) -> NATSConnection.Options { .init(servers: [server], name: "check") }

    @Test func acceptsAServerThatAnswers() {
        let server = NATSServer()
        #expect(NATSConnection.check(options(server.url)) == nil)
        server.kill()
        #expect(NATSConnection.check(options(server.url))?.contains("127.0.0.1: ") == true)
        #expect(NATSConnection.check(NATSConnection.Options(servers: [server.url, "nats://127.0.0.1:1"], name: "")) != nil)
        #expect(NATSConnection.check(NATSConnection.Options(servers: [], name: "")) != nil)
    }

    @Test func namesAHostThatIsUnknown() {
        let problem = NATSConnection.check(options("nats://unknown.invalid:4222"))
        #expect(problem?.hasPrefix("unknown.invalid: ") == true && problem?.contains("No server") == false)
    }

    @Test func passwordsAreCheckedAndNotShown() {
        let server = NATSServer(["--user", "ann", "--pass", "sesame-right"])
        var options = options(server.url)
        #expect(NATSConnection.check(options)?.contains("Authorization") == true)
        (options.user, options.password) = ("ann", "sesame-wrong")
        let problem = NATSConnection.check(options)
        #expect(problem?.contains("Authorization") == true && problem?.contains("sesame") == false)
        options.password = "sesame-right"
        #expect(NATSConnection.check(options) == nil)
        let url = "nats://ann:sesame-wrong@127.0.0.1:\(server.port)"
        #expect(NATSConnection.check(self.options(url))?.contains("sesame") == false)
        #expect(self.options(url).redacted("nats://ann:sesame-wrong@host: sesame-wrong") == "nats://…@host: …")
    }

    @Test func tokensAreChecked() {
        let server = NATSServer(["--auth", "sesame-right"])
        var options = options(server.url)
        options.token = "sesame-wrong"
        #expect(NATSConnection.check(options)?.contains("sesame") == false)
        options.token = "sesame-right"
        #expect(NATSConnection.check(options) == nil)
    }

    @Test(arguments: [
        ("nats://host:4222", "host", false, ""), ("tls://user:word@host:4222", "host", true, "user:word"),
        ("tls://[::1]:4222/", "::1", true, ""), ("host", "host", false, ""), ("nats://a:b@c@host", "host", false, "a:b@c"),
    ]) func takesURLsApart(url: String, host: String, isTLS: Bool, userInfo: String) {
        let address = ServerAddress(url)
        #expect(address.host == host && address.isTLS == isTLS && address.userInfo == userInfo)
    }
}

@Suite struct TLSTests {
    private let directory = TemporaryDirectory()

    /// Makes a certificate that signs itself.
    private func certificate(_ name: String) -> (certificate: String, key: String) {
        let files = (certificate: "\(directory.path)/\(name).pem", key: "\(directory.path)/\(name).key")
        let openssl = ChildProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)", "-keyout", files.key, "-out", files.certificate,
        ])
        precondition(openssl.wait())
        return files
    }

    private func server(_ files: (certificate: String, key: String)) -> NATSServer {
        NATSServer(["--tls", "--tlscert", files.certificate, "--tlskey", files.key])
    }

    private func options(_ server: NATSServer, caFile: String) -> NATSConnection.Options {
        var options = NATSConnection.Options(servers: ["tls://localhost:\(server.port)"], name: "test")
        options.caFile = caFile
        return options
    }

    @Test func certificateMustDescendFromTheCAFile() {
        let (own, other) = (certificate("localhost"), certificate("other"))
        let server = server(own)
        #expect(NATSConnection.check(options(server, caFile: own.certificate)) == nil)
        #expect(NATSConnection.check(options(server, caFile: other.certificate))?.contains("certificate") == true)
        #expect(NATSConnection.check(options(server, caFile: ""))?.contains("certificate") == true)
        #expect(NATSConnection.check(options(server, caFile: "/none")) != nil)
    }

    @Test func certificateMustHaveTheHostsName() {
        let other = certificate("other")
        let server = server(other)
        #expect(NATSConnection.check(options(server, caFile: other.certificate))?.contains("mismatch") == true)
    }

    @Test func largeAndSmallMessagesPassInOrder() {
        let own = certificate("localhost")
        let server = server(own)
        let options = options(server, caFile: own.certificate)
        let (sender, receiver) = (Connected(options), Connected(options))
        #expect(sender.recorder.waitForUps(1) && receiver.recorder.waitForUps(1) && receiver.subscribe([1: "a"]))
        let sizes = (0..<2_000).map { $0 % 50 == 0 ? 50_000 + $0 : $0 % 300 }
        #expect(sender.connection.post(sizes.map { .publish(subject: "a", payload: [UInt8](repeating: 97, count: $0)) }))
        #expect(receiver.recorder.waitForMessages(sizes.count))
        #expect(receiver.recorder.all.texts.map(\.utf8.count) == sizes)
        #expect(sender.recorder.all.downs.isEmpty && receiver.recorder.all.downs.isEmpty)
        sender.close()
        receiver.close()
    }
}
