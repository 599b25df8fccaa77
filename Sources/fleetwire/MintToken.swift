import Access
import ArgumentParser
import Configuration
import Glibc
import JWT

/// `fleetwire token`: prints a JWT for development.
struct MintToken: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Print a JWT for development, signed with auth.jwt.secret (HS256).",
        discussion: "Example: curl -H \"Authorization: Bearer $(fleetwire token --role admin --subject ann)\" …")

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The role: driver, admin, customer or ops.")
    var role: String

    @Option(help: "The user: a driver's or customer's id, or an admin's name.")
    var subject: String

    @Option(help: "The time until the token expires: a number with s, m, h or d.")
    var ttl = "1h"

    @Option(help: "The user's display name.")
    var name: String?

    @Option(help: "The reference of a booking that a customer may follow; can be repeated.")
    var booking: [String] = []

    func run() throws {
        let settings = try configuration.load()
        guard let role = Role(anyCase: role) else {
            throw ValidationError("Expected --role to be driver, admin, customer or ops, found \(role)")
        }
        guard role.accepts(id: subject) else {
            throw ValidationError("Expected --subject to be 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ; found \(subject)")
        }
        guard let seconds = Self.seconds(ttl) else {
            throw ValidationError("Expected --ttl such as 90s, 15m, 1h or 7d, found \(ttl)")
        }
        guard let issuer = settings.auth.jwt.first(where: { !$0.secret.isEmpty }) else {
            StandardError.print(
                "fleetwire: cannot sign a token: \(configuration.file) has no auth.jwt.secret. Get a token from the issuer.")
            throw ExitCode.failure
        }
        print(
            TokenMint.token(
                for: Identity(role: role, id: subject, name: name, bookings: booking), secret: issuer.secret,
                issuer: issuer.issuer, audience: issuer.audience, issuedAt: Int64(time(nil)), lifetimeSeconds: seconds))
    }

    /// The seconds of a duration such as `90s`, `15m`, `1h` or `7d`, whose number is 1 to 100,000; nil for any other
    /// text.
    static func seconds(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), (1...100_000).contains(count)
        else {
            return nil
        }
        return count * unit
    }
}
