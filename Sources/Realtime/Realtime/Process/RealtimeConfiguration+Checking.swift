import Crypto
import PusherProtocol

extension RealtimeConfiguration {
    /// What keeps a server from serving as its author means it; nil: nothing. The fleet's configuration has rules of its own.
    var problem: String? {
        if apps.isEmpty { return "expected an app, found none" }
        for (name, values) in [("id", apps.map(\.id)), ("key", apps.map(\.key))] where Set(values).count < values.count {
            return "expected apps of different \(name)s, found two of one"
        }
        if !(0...65_535).contains(server.port) { return "expected a port of 0 to 65535, found \(server.port)" }
        if server.proxyProtocol, !server.tls.isEmpty {
            return "expected no certificate beside proxyProtocol: let the load balancer terminate TLS"
        }
        return apps.lazy.compactMap { app in app.problem.map { "app \(app.id): \($0)" } }.first
    }
}

extension RealtimeConfiguration.App {
    fileprivate var problem: String? {
        if secrets.isEmpty || secrets.contains("") { return "expected secrets that are not empty" }
        if !encryptionMasterKey.isEmpty, Base64.bytes(of: encryptionMasterKey)?.count != 32 {
            return "expected an encryptionMasterKey of 32 bytes in base64"
        }
        if webhooks.count > RealtimeConfiguration.Webhook.perAppMax {
            return "expected at most \(RealtimeConfiguration.Webhook.perAppMax) webhooks, found \(webhooks.count)"
        }
        let known = WebhookKinds.names.map(\.name)
        let unknown = webhooks.flatMap(\.events).first { !known.contains($0) }
        return unknown.map { "expected webhook events among \(known.joined(separator: ", ")), found \($0)" }
    }
}
