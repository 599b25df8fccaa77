import ArgumentParser
import Configuration
import Crypto
import Glibc
import HTTPClient
import JSON
import PusherProtocol

/// `fleetwire send`: a signed publish from the shell, as a backend would do it.
struct Send: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Publish an event, signed with an app's secret from the configuration.",
        discussion: "Prints the server's answer; exit 0 when it was 200, else 1 with what was wrong.")

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The server; by default the configured address.")
    var url: String?

    @Option(help: "The id of the app to publish as; by default the first configured.")
    var app: String?

    @Option(name: .long, help: "A channel to publish to; may be given several times.")
    var channel: [String]

    @Option(help: "The event's name.")
    var event: String

    @Option(parsing: .unconditional, help: "The event's data, passed through as it is.")
    var data = "{}"

    @Option(name: .customLong("socket-id"), help: "A connection that is not to get the event.")
    var socketID: String?

    func run() throws {
        let settings = try configuration.load()
        guard let app = settings.apps.first(where: { self.app == nil || $0.id == self.app }) else {
            throw ValidationError("No app \(self.app ?? "") in \(configuration.file)")
        }
        let body = body()
        let path = "/apps/\(app.id)/events"
        let query = body.withUnsafeBytes { bytes in
            [
                (name: "auth_key", value: app.key), (name: "auth_timestamp", value: String(time(nil))),
                (name: "auth_version", value: "1.0"), (name: "body_md5", value: MD5().hexadecimalDigest(of: bytes)),
            ]
        }
        let text = SigningText.request(method: "POST", path: path, query: query)
        let signature = HMACKey(secret: app.secrets[0]).signature(of: text)
        let parameters = (query + [(name: "auth_signature", value: signature)]).map { "\($0.name)=\($0.value)" }
        let server = url ?? "http\(settings.server.tls.isEnabled ? "s" : "")://\(settings.server.urlHost):\(settings.server.port)"
        do {
            let answer = try Post.json(body, to: server + path + "?" + parameters.joined(separator: "&"), timeoutSeconds: 10)
            let text = answer.body.last == "\n" ? String(answer.body.dropLast()) : answer.body
            guard answer.status == 200 else {
                StandardError.print("fleetwire: \(server) answered \(answer.status): \(text)")
                throw ExitCode.failure
            }
            print(text)
        } catch let failure as Post.Failure {
            StandardError.print("fleetwire: \(failure)")
            throw ExitCode.failure
        }
    }

    private func body() -> [UInt8] {
        var json = JSONWriter()
        json.raw(#"{"name":"#)
        json.string(event)
        json.raw(#","channels":["#)
        for (index, channel) in channel.enumerated() {
            if index > 0 { json.raw(",") }
            json.string(channel)
        }
        json.raw(#"],"data":"#)
        json.string(data)
        if let socketID {
            json.raw(#","socket_id":"#)
            json.string(socketID)
        }
        json.raw("}")
        return json.bytes
    }
}
