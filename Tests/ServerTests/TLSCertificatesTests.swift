import CTLS
import Foundation
import Glibc
import Testing
import Threads

@testable import Server

/// The listener's TLS, spoken with by OpenSSL's client over a pair of sockets.
@Suite struct TLSCertificatesTests {
    /// What a handshake has led to.
    private struct Outcome {
        var isDone = false
        var cipher = ""
        var isResumed = false
        /// An `SSL_SESSION`, which the next client may offer.
        var session: OpaquePointer?
    }

    /// A certificate and its key, in a directory that is deleted after the test.
    private final class Files {
        let directory = URL(filePath: "/tmp/fleetwire-\(UUID().uuidString.prefix(8))")
        var pair: TLSFiles { TLSFiles(certificate: directory.path + "/c.pem", key: directory.path + "/k.pem") }

        init() throws {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try TLSCertificatesTests.certificate.write(to: directory.appending(path: "c.pem"), atomically: true, encoding: .utf8)
            try TLSCertificatesTests.key.write(to: directory.appending(path: "k.pem"), atomically: true, encoding: .utf8)
        }

        deinit { try? FileManager.default.removeItem(at: directory) }  // if this fails, the system cleans /tmp later
    }

    /// - Parameters:
    ///   - ciphers: what the client offers for TLS 1.2, in its order.
    ///   - session: what it offers to resume.
    private func handshake(
        _ certificates: TLSCertificates, version: Int32 = TLS1_2_VERSION, ciphers: String = "ALL:@SECLEVEL=0",
        session: OpaquePointer? = nil
    ) throws -> Outcome {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let context = try #require(SSL_CTX_new(TLS_client_method()))
        defer { SSL_CTX_free(context) }
        for bound in [SSL_CTRL_SET_MIN_PROTO_VERSION, SSL_CTRL_SET_MAX_PROTO_VERSION] {
            SSL_CTX_ctrl(context, bound, Int(version), nil)
        }
        try #require(SSL_CTX_set_cipher_list(context, ciphers) == 1)
        let client = try #require(SSL_new(context))
        defer { SSL_free(client) }
        if let session { SSL_set_session(client, session) }
        SSL_set_fd(client, ends[0])
        SSL_set_connect_state(client)
        let server = try #require(certificates.accept(ends[1]))
        return turns(client, server)
    }

    /// Lets both sides take turns until the handshake is done, and the client has the ticket, or one has failed.
    private func turns(_ client: OpaquePointer, _ server: TLSConnection) -> Outcome {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 14, alignment: 1)
        defer { buffer.deallocate() }
        var outcome = Outcome()
        for _ in 0..<20 {
            let result = SSL_do_handshake(client)
            if result != 1, SSL_get_error(client, result) != SSL_ERROR_WANT_READ { return outcome }
            outcome.isDone = result == 1
            if case .ended = server.receive(into: buffer) { return Outcome() }
            _ = server.flush()
        }
        var count = 0
        _ = SSL_read_ex(client, buffer.baseAddress, 1, &count)  // tickets of TLS 1.3 follow the handshake
        outcome.cipher = SSL_get_current_cipher(client).map { String(cString: SSL_CIPHER_get_name($0)) } ?? ""
        outcome.isResumed = SSL_session_reused(client) == 1
        outcome.session = SSL_get1_session(client)
        SSL_shutdown(client)  // OpenSSL does not resume the session of a connection that was not ended
        return outcome
    }

    // MARK: Ciphers

    @Test func theServersOrderCountsButAClientThatPrefersChaChaGetsIt() throws {
        let files = try Files()
        let certificates = try TLSCertificates([files.pair])
        for (offered, chosen) in [
            ("AES128-SHA:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
            ("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-GCM-SHA256"),
            ("ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ] {
            #expect(try handshake(certificates, ciphers: offered).cipher == chosen, "\(offered)")
        }
    }

    @Test(
        "No cipher without forward secrecy or authenticated encryption is agreed on",
        arguments: [
            "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-CCM", "AES128-SHA", "AES256-GCM-SHA384",
        ])
    func refused(cipher: String) throws {
        let files = try Files()
        #expect(try !handshake(try TLSCertificates([files.pair]), ciphers: cipher + ":@SECLEVEL=0").isDone)
    }

    // MARK: Tickets

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION]) func aTicketOutlivesOneChangeOfKeysAndIsRenewed(version: Int32) throws {
        let files = try Files()
        let clock = Lock<UInt64>(5)
        let certificates = try TLSCertificates([files.pair]) { clock.withLock { $0 } }
        let first = try handshake(certificates, version: version)
        #expect(first.isDone && !first.isResumed)
        #expect(try handshake(certificates, version: version, session: first.session).isResumed)
        clock.withLock { $0 += TicketKeys.lifetime }
        certificates.renewTicketKeys()
        let second = try handshake(certificates, version: version, session: first.session)
        #expect(second.isDone && second.isResumed, "the key before still opens")
        clock.withLock { $0 += TicketKeys.lifetime }
        #expect(try !handshake(certificates, version: version, session: first.session).isResumed, "the key is dropped")
        #expect(try handshake(certificates, version: version, session: second.session).isResumed, "it got a new ticket")
    }

    @Test func aTicketOfAnotherProcessLeadsToAWholeHandshake() throws {
        let files = try Files()
        let session = try handshake(try TLSCertificates([files.pair])).session
        let outcome = try handshake(try TLSCertificates([files.pair]), session: session)
        #expect(outcome.isDone && !outcome.isResumed)
    }

    // MARK: Keys

    @Test func keysAreMadeDailyAndOneOldOneIsKept() {
        var keys = TicketKeys(at: 100)
        let first = keys.current
        keys.renew(at: 99 + TicketKeys.lifetime)
        #expect(keys.current === first && keys.previous == nil)
        keys.renew(at: 100 + TicketKeys.lifetime)
        let second = keys.current
        #expect(second !== first && keys.previous === first && keys.key(named: first.bytes) === first)
        keys.renew(at: 100 + 2 * TicketKeys.lifetime)
        #expect(keys.previous === second && keys.key(named: first.bytes) == nil)
        keys.renew(at: 100 + 9 * TicketKeys.lifetime)
        #expect(keys.previous == nil && keys.key(named: second.bytes) == nil, "after days without a handshake")
    }

    /// Another thread may have renewed them since this one has read its clock.
    @Test func anEarlierTimeRenewsNothing() {
        var keys = TicketKeys(at: 100)
        let first = keys.current
        for time: UInt64 in [99, 0] { keys.renew(at: time) }
        #expect(keys.current === first && keys.previous == nil)
    }

    @Test func keysDiffer() {
        let (one, other) = (TicketKeys(at: 0).current, TicketKeys(at: 0).current)
        #expect(memcmp(one.bytes, other.bytes, 16) != 0 && memcmp(one.bytes + 16, other.bytes + 16, 64) != 0)
    }

    /// For localhost, until 2125.
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBfzCCASWgAwIBAgIUMvOfXS/0AlYWuCHtA3ui/GfW2FgwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyOTAyMzkyN1oYDzIxMjYxMTA1
        MDIzOTI3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAATCWeiXUPY0iA+pMPmq6BNAUpH7NgE5Qex7V+o2uYNaILTcYqyCyl0a
        BGb3elKqHnZgSvnmbmhn+MCIUEkEZckNo1MwUTAdBgNVHQ4EFgQUcj9XzwvUPMoJ
        pDTNpHgLXGz8CAQwHwYDVR0jBBgwFoAUcj9XzwvUPMoJpDTNpHgLXGz8CAQwDwYD
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA2iaPTwKGmxv3UHdrVc4F
        ljxbpuQSM6BlIZb0I3obs+ACIG1o1cwCLK16gnqdnhA8NBm9WT8v27NnloSHikkH
        Y0wE
        -----END CERTIFICATE-----
        """
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgh8Cp/xsGUX1DAuBk
        DfJ5WyCdS8TZJy8tkY7c54yy99+hRANCAATCWeiXUPY0iA+pMPmq6BNAUpH7NgE5
        Qex7V+o2uYNaILTcYqyCyl0aBGb3elKqHnZgSvnmbmhn+MCIUEkEZckN
        -----END PRIVATE KEY-----
        """
}
