import CNats
import Primitives

/// A server's URL, taken apart as far as needed.
struct ServerAddress: Equatable {
    /// As configured.
    let url: String
    /// The name or address alone.
    let host: String
    /// Whether the scheme demands TLS.
    let isTLS: Bool
    /// A user with or without a password, or a token, before the host; empty: none.
    let userInfo: Substring

    init(_ url: String) {
        self.url = url
        let scheme = url.firstRange(of: "://")
        isTLS = scheme.map { url[..<$0.lowerBound].lowercased() == "tls" } ?? false
        var rest = (scheme.map { url[$0.upperBound...] } ?? url[...]).prefix { $0 != "/" }
        let at = rest.lastIndex(of: "@")
        userInfo = at.map { rest[..<$0] } ?? ""
        if let at { rest = rest[rest.index(after: at)...] }
        let isIPv6 = rest.first == "["
        host = String(isIPv6 ? rest.dropFirst().prefix { $0 != "]" } : rest.prefix { $0 != ":" })
    }
}

/// cnats's options for one attempt to connect.
struct ConnectOptions {
    /// Owned by the caller; nil if something is wrong.
    private(set) var handle: OpaquePointer?
    /// What is wrong.
    private(set) var problem = ""

    init(_ server: ServerAddress, _ options: NATSConnection.Options) {
        var created: OpaquePointer?
        guard natsOptions_Create(&created) == NATS_OK, let created else {
            problem = "out of memory"
            return
        }
        let status = Self.set(created, server, options)
        if status == NATS_OK {
            handle = created
        } else {
            problem = Self.problem(status)
            natsOptions_Destroy(created)
        }
    }

    /// Why a call of this thread failed.
    static func problem(_ status: natsStatus) -> String {
        let general = String(cString: natsStatus_GetText(status))
        var last = status
        guard let text = nats_GetLastError(&last), text.pointee != 0 else { return general }
        return message(String(cString: text))
    }

    /// A text of cnats without the line of its source that is before it, as in `(conn.c:5): No server`.
    static func message(_ text: String) -> String {
        guard text.first == "(", let end = text.firstRange(of: "): ") else { return text }
        return String(text[end.upperBound...])
    }

    private static func set(
        _ handle: OpaquePointer, _ server: ServerAddress, _ options: NATSConnection.Options
    ) -> natsStatus {
        var setters: [() -> natsStatus] = [
            { natsOptions_SetURL(handle, server.url) },
            { natsOptions_SetName(handle, options.name) },
            { natsOptions_SetTimeout(handle, Timing.busConnectMax) },
            { natsOptions_SetAllowReconnect(handle, false) },
            { natsOptions_SetIgnoreDiscoveredServers(handle, true) },
            { natsOptions_SetNoEcho(handle, true) },
            // Whatever is buffered is to be sent, which with an event loop means: asks the loop for a write, once.
            { natsOptions_SetSendAsap(handle, true) },
            // With TLS, cnats waits for the socket within a write; without, it never does.
            { natsOptions_SetWriteDeadline(handle, 500) },
            { natsOptions_SetPingInterval(handle, 0) },
            // By default cnats starts a thread for each subscription. One thread for all keeps the order of messages of
            // one sender on several subjects.
            { natsOptions_UseGlobalMessageDelivery(handle, true) },
            { natsOptions_SetMaxPendingMsgs(handle, options.pendingMessagesMax) },
        ]
        if !options.user.isEmpty { setters.append { natsOptions_SetUserInfo(handle, options.user, options.password) } }
        if !options.token.isEmpty { setters.append { natsOptions_SetToken(handle, options.token) } }
        if !options.credentialsFile.isEmpty {
            setters.append { natsOptions_SetUserCredentialsFromFiles(handle, options.credentialsFile, nil) }
        }
        if server.isTLS {
            setters.append { natsOptions_SetSecure(handle, true) }
            // Debian's cnats checks the name in the certificate only if it is told which to expect.
            setters.append { natsOptions_SetExpectedHostname(handle, server.host) }
            if !options.caFile.isEmpty {
                setters.append { natsOptions_LoadCATrustedCertificates(handle, options.caFile) }
            }
        }
        for setter in setters {
            let status = setter()
            guard status == NATS_OK else { return status }
        }
        return NATS_OK
    }
}

extension NATSConnection.Options {
    /// Removes what must not be in a log from an error's text.
    func redacted(_ text: String) -> String {
        var text = text
        for secret in [password, token] where !secret.isEmpty { text = text.replacing(secret, with: "…") }
        for userInfo in servers.map({ ServerAddress($0).userInfo }) where !userInfo.isEmpty {
            text = text.replacing(userInfo, with: "…")
            for part in userInfo.split(separator: ":", maxSplits: 1).dropFirst() { text = text.replacing(part, with: "…") }
        }
        return text
    }
}
