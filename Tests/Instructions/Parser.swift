import Access
import FanOut
import Fleet
import HTTP
import HTTP1
import JWT
import PusherAPI
import PusherProtocol

/// Code that reads bytes from outside, an ordinary input, and the inputs that are known to cost most.
struct Parser: Sendable {
    typealias Input = @Sendable (_ count: Int) -> [UInt8]

    let name: String
    /// Makes an ordinary input of about `count` bytes: what an app, a backend or a proxy sends if it sends so much.
    let plain: Input
    /// Makes inputs of about `count` bytes, by what is special about them.
    let worst: [(name: String, input: Input)]
    let parse: @Sendable ([UInt8]) -> Void
}

extension Parser {
    static let all = [
        message, frames, publish, batch, member, signin, head, chunks, query, token, cookies, form, body, canonical,
        announcement, cards, forwarding, forwardedFor, proxy,
    ]
}

// MARK: Ordinary data

/// Elements of an array as an app sends them: short names, texts and numbers, two levels.
let objects = #"{"id":"A-1042","place":{"lat":52.5163,"lng":13.3777},"status":"picked up","at":1764318294},"#

/// The same as the content of a string.
let escapedObjects = objects.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: #"\""#)

// MARK: What the parsers need

let secret = "a-secret-for-measurements-of-32-bytes"
let now: Int64 = 1_800_000_000

let socket = SocketID("7.1")!

let rules: AppRules = {
    var rules = AppRules()
    rules.clientEvents = true
    return rules
}()

nonisolated(unsafe) let app = Application(index: 0, id: "1", key: "k", secrets: [secret])

private let sessionCookies = SessionCookies(
    names: ["next-auth.session-token", "__Secure-next-auth.session-token"], secrets: [secret], scheme: .v4,
    roles: .init(claim: "role", admin: ["ADMIN"], ops: []))

nonisolated(unsafe) let verifier: TokenVerifier = {
    let issuers = [TokenIssuer(algorithm: .hs256, keys: .secret(secret))]
    do { return try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers)) } catch { fatalError("\(error)") }
}()

nonisolated(unsafe) private let router: Router = {
    let authenticator = Authenticator(verifier: verifier, cookies: ["token"], sessions: sessionCookies, origins: app.origins)
    let fleet = FleetRouter(
        app: app, authenticator: authenticator, metricsToken: "t", isCatalogued: { $0 == "T" }, isTimeZone: { _ in true },
        codeCountries: [])
    return Router(apps: [app], metricsToken: "t", patterns: fleet.patterns, extension: fleet)
}()

private func authorization(_ role: Role) -> String {
    "Authorization: Bearer "
        + TokenMint.token(
            for: Identity(role: role, id: "1"), secret: secret, id: String(repeating: "a", count: 32), issuedAt: now,
            lifetimeSeconds: 3_600) + "\r\n"
}

let admin = authorization(.admin)
let driver = authorization(.driver)

/// Handles a request whose head is in `bytes`, as a loop does.
func route(_ bytes: [UInt8], body: [UInt8] = []) {
    bytes.withUnsafeBytes { bytes in
        body.withUnsafeBytes { body in
            var parser = RequestHeadParser()
            guard case .complete(let head) = parser.parse(bytes) else { return }
            let request = HTTPRequest(head: head, bytes: bytes, body: body, correlationID: "c", isLoopback: false)
            guard case .route(let route) = router.route(head: request, now: now).routing else { return }
            _ = route.action(request.body)
        }
    }
}

/// Handles a request with these fields and this body.
func post(_ path: String, _ fields: String, _ body: [UInt8]) {
    route(Array("POST \(path) HTTP/1.1\r\nHost: h\r\n\(fields)Content-Length: \(body.count)\r\n\r\n".utf8), body: body)
}

/// Makes an input of `start`, as many repetitions of `part` as fit, and `end`.
func filled(_ start: String, _ part: String, _ end: String = "") -> Parser.Input {
    return { count in
        let fixed = start.utf8.count + end.utf8.count
        let times = max(0, count - fixed) / part.utf8.count
        return Array(start.utf8) + Array(repeatElement(Array(part.utf8), count: times).joined()) + Array(end.utf8)
    }
}

/// Makes an input of `start`, numbered parts, and `end`.
func numbered(_ start: String, _ end: String = "", _ part: @escaping @Sendable (Int) -> String) -> Parser.Input {
    return { count in
        var bytes = Array(start.utf8)
        var number = 0
        while bytes.count + part(number).utf8.count + end.utf8.count <= count {
            bytes += part(number).utf8
            number += 1
        }
        return bytes + Array(end.utf8)
    }
}
