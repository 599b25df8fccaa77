import ArgumentParser
import Configuration
import Crypto
import Glibc
import HTTPClient
import JSON
import Primitives
import PusherProtocol

/// `fleetwire send`: publishes an event through the REST API, as a backend does.
struct Send: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Publish an event, signed with an app's secret from the configuration.",
        discussion: "Prints the response. Exits with 0 if its status is 200, else with 1.")

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The server's URL (default: the configured address).")
    var url: String?

    @Option(help: "The app's id (default: the first configured app).")
    var app: String?

    @Option(name: .long, help: "A channel to publish to; can be repeated.")
    var channel: [String]

    @Option(help: "The event's name.")
    var event: String

    @Option(parsing: .unconditional, help: "The event's data, sent unchanged.")
    var data = "{}"

    @Option(name: .customLong("socket-id"), help: "The socket id of a connection that does not receive the event.")
    var socketID: String?

    func run() throws {
        let settings = try configuration.load()
        guard let app = settings.apps.first(where: { self.app == nil || $0.id == self.app }) else {
            throw ValidationError("Expected --app to be the id of an app in \(configuration.file), found \(self.app ?? "")")
        }
        let body = body()
        let server = url ?? settings.server.url("http")
        do {
            let request = HTTPClientRequest(
                .post, server + signedPath(for: app, body: body), headers: [("content-type", "application/json")], body: body)
            let response = try HTTPClient.send(request, timeoutSeconds: 10)
            let lineEnd = response.body.last == UInt8(ascii: "\n") ? 1 : 0
            // The server may be anybody's.
            let text = String(decoding: response.body.dropLast(lineEnd), as: UTF8.self).terminalEscaped
            guard response.status == 200 else {
                StandardError.print("fleetwire: cannot publish: \(server) responded with status \(response.status): \(text)")
                throw ExitCode.failure
            }
            print(text)
        } catch let error as HTTPClientError {
            StandardError.print("fleetwire: cannot publish to \(server): \("\(error)".terminalEscaped)")
            throw ExitCode.failure
        }
    }

    /// The path and query of the request, signed with the app's first secret.
    private func signedPath(for app: Settings.App, body: [UInt8]) -> String {
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
        return path + "?" + parameters.joined(separator: "&")
    }

    private func body() -> [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.member("name", event)
            $0.member("channels", channel)
            $0.member("data", data)
            if let socketID { $0.member("socket_id", socketID) }
        }
        return json.bytes
    }
}
