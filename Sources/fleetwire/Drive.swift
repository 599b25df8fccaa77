import Access
import ArgumentParser
import Configuration
import Fleet
import Glibc
import HTTPClient
import JSON
import JWT
import Primitives
import Threads

/// `fleetwire drive`: plays the app of a driver who drives to a place, for development.
struct Drive: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Play the app of an order's driver who drives to a place, for development.",
        discussion: """
            Accepts the order and reports en_route if needed, then sends a position each --interval seconds until the driver \
            is there. Signs its tokens with auth.jwt.secret. Ctrl-C stops it.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The order's code. It must have a driver.")
    var order: String

    @Option(parsing: .unconditional, help: "The destination: latitude and longitude in degrees, such as 51.5,-0.12.")
    var to: String

    @Option(parsing: .unconditional, help: "Where the driver starts (default: 3 km south of the destination).")
    var from: String?

    @Option(help: "The speed in km/h, 1 to 500.")
    var speed = 40.0

    @Option(help: "The seconds between two positions, 0.5 to 60.")
    var interval = 1.0

    @Option(help: "The server's URL (default: the configured address).")
    var url: String?

    func run() throws {
        guard let end = Place(to) else { throw ValidationError("Expected --to such as 51.5,-0.12, found \(to)") }
        guard let start = from.map({ Place($0) }) ?? end.moved(metres: -3_000) else {
            throw ValidationError("Expected --from such as 51.5,-0.12, found \(from ?? "")")
        }
        guard 1...500 ~= speed else { throw ValidationError("Expected --speed to be from 1 to 500") }
        guard 0.5...60 ~= interval else { throw ValidationError("Expected --interval to be from 0.5 to 60") }
        let settings = try configuration.load()
        guard let issuer = settings.auth.jwt.first(where: { !$0.secret.isEmpty }) else {
            throw Job.failure("\(configuration.file) has no auth.jwt.secret to sign tokens with")
        }
        let server = url ?? settings.server.url("http")
        do {
            let job = try Job(order, server, issuer)
            try job.start()
            try drive(job, from: start, to: end)
        } catch let error as HTTPClientError {
            throw Job.failure("\(server): \(error)")
        }
    }

    private func drive(_ job: Job, from start: Place, to end: Place) throws {
        let way = start.metres(to: end)
        let begin = Clock.monotonicMilliseconds()
        let isTerminal = isatty(STDOUT_FILENO) == 1
        while true {
            let seconds = Double(Clock.monotonicMilliseconds() - begin) / 1_000
            let metres = min(way, seconds * speed / 3.6)
            // The driver stops at the end: who passes the pickup at speed has not arrived.
            let sharing = try job.report(
                start.between(end, way == 0 ? 1 : metres / way), metresPerSecond: metres >= way ? 0 : speed / 3.6)
            guard !sharing.isEmpty else {
                throw Job.failure("the gateway does not follow order \(order): its job is not under way")
            }
            let left = (way - metres) / 1_000
            let line = "\(order)  \(Self.oneDecimal(left)) of \(Self.oneDecimal(way / 1_000)) km to go, at \(Int(speed)) km/h"
            print(line, terminator: isTerminal ? "   \r" : "\n")
            fflush(nil)
            if metres >= way { break }
            usleep(UInt32(interval * 1_000_000))
        }
        if isTerminal { print() }
        print("The driver is there. What customers were told: fleetwire audit --order \(order)")
    }

    private static func oneDecimal(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }
}

/// A place in degrees.
private struct Place {
    let latitude: Double
    let longitude: Double

    init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1], -90...90 ~= latitude, -180...180 ~= longitude
        else { return nil }
        self.init(latitude, longitude)
    }

    private init(_ latitude: Double, _ longitude: Double) { (self.latitude, self.longitude) = (latitude, longitude) }

    func metres(to other: Place) -> Double {
        Position(latitude: latitude, longitude: longitude, recordedAt: 0)
            .metres(to: Position(latitude: other.latitude, longitude: other.longitude, recordedAt: 0))
    }

    /// The place so many metres to the north, or the south.
    func moved(metres: Double) -> Place? {
        let degrees = metres / 111_195
        return Place(abs(latitude + degrees) > 90 ? latitude - degrees : latitude + degrees, longitude)
    }

    /// The place on the way to another one, which is a straight line on the map: near enough for a drive.
    func between(_ other: Place, _ part: Double) -> Place {
        // The shorter way around the earth.
        var east = other.longitude - longitude
        if east > 180 { east -= 360 } else if east < -180 { east += 360 }
        var reached = longitude + east * part
        if reached > 180 { reached -= 360 } else if reached < -180 { reached += 360 }
        return Place(latitude + (other.latitude - latitude) * part, reached)
    }
}

/// The order and its driver's app.
private struct Job {
    private let code: String
    private let server: String
    private let driver: String
    private let status: String

    /// - Throws: `ExitCode` if the order has no driver.
    init(_ code: String, _ server: String, _ issuer: Settings.JWT) throws {
        (self.code, self.server) = (code, server)
        let admin = Self.token(Identity(role: .admin, id: "drive"), issuer)
        let body = try Self.send(.get, "\(server)/api/admin/orders/\(code)", admin, [])
        guard let id = Self.member("driverId", of: body), let status = Self.member("status", of: body) else {
            throw Self.failure("order \(code) has no driver: assign one with POST /api/admin/orders/\(code)/assign-driver")
        }
        self.status = status
        driver = Self.token(Identity(role: .driver, id: id), issuer)
    }

    /// Accepts the order and reports that the driver is on the way, unless this has been done.
    func start() throws {
        if ["available", "assigned"].contains(status) {
            _ = try Self.send(.post, "\(server)/api/driver/jobs/\(code)/accept", driver, [])
        }
        guard ["available", "assigned", "accepted"].contains(status) else { return }
        _ = try Self.send(
            .put, "\(server)/api/driver/jobs/\(code)/progress", driver, Array(#"{"step":"en_route"}"#.utf8))
    }

    /// Sends a position. A refusal because of the rate is no failure: the next position follows.
    /// - Returns: the references that the gateway follows.
    func report(_ place: Place, metresPerSecond speed: Double) throws -> [String] {
        let position = """
            {"latitude":\(place.latitude),"longitude":\(place.longitude),"accuracy":5,"speed":\(speed)}
            """
        let body = try Self.send(.post, "\(server)/api/driver/location", driver, Array(position.utf8), allowing: 429)
        return body.isEmpty ? [code] : Self.references(body)
    }

    private static func token(_ identity: Identity, _ issuer: Settings.JWT) -> String {
        TokenMint.token(
            for: identity, secret: issuer.secret, issuer: issuer.issuer, audience: issuer.audience,
            issuedAt: Int64(time(nil)), lifetimeSeconds: 86_400)
    }

    /// - Returns: the response's body; empty if its status is `allowed`.
    private static func send(
        _ method: HTTPClientRequest.Method, _ url: String, _ token: String, _ body: [UInt8], allowing allowed: Int = 200
    ) throws -> [UInt8] {
        let headers = [("authorization", "Bearer \(token)"), ("content-type", "application/json")]
        let response = try HTTPClient.send(
            HTTPClientRequest(method, url, headers: headers.map { (name: $0.0, value: $0.1) }, body: body), timeoutSeconds: 10)
        if response.status == 200 { return response.body }
        if response.status == allowed { return [] }
        throw failure("\(url) responded with status \(response.status): \(String(decoding: response.body, as: UTF8.self))")
    }

    /// Prints why the command fails.
    static func failure(_ text: String) -> ExitCode {
        StandardError.print("fleetwire: cannot drive: \(text.terminalEscaped)")
        return .failure
    }

    /// A text in `data.order` of a response.
    private static func member(_ name: StaticString, of body: [UInt8]) -> String? {
        body.withUnsafeBytes { bytes in
            var found: String?
            try? JSONReader.object(bytes) { key, data in
                guard key.equals("data") else { return }
                try JSONReader.object(data.raw) { key, order in
                    guard key.equals("order") else { return }
                    try JSONReader.object(order.raw) { if $0.equals(name) { found = $1.string } }
                }
            }
            return found
        }
    }

    /// `data.sharing` of a response.
    private static func references(_ body: [UInt8]) -> [String] {
        body.withUnsafeBytes { bytes in
            var found: [String] = []
            try? JSONReader.object(bytes) { key, data in
                guard key.equals("data") else { return }
                try JSONReader.object(data.raw) { key, sharing in
                    guard key.equals("sharing") else { return }
                    try JSONReader.array(sharing.raw) { if let text = $0.string { found.append(text) } }
                }
            }
            return found
        }
    }
}
