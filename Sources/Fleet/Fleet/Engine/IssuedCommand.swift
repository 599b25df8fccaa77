import Access
import Primitives

/// A command with what a request says besides: who acts, on which condition, and how often.
package struct IssuedCommand: Sendable {
    package let sender: Sender
    package let command: any Command
    package let correlationID: String
    /// From `If-Match`: one of these versions the order, route or driver's card must have; nil if any version will do.
    package let expectedVersions: [Int]?
    /// Nil if the request has no `Idempotency-Key`.
    package let idempotencyKey: IdempotencyKey?
    /// Of a request without a token: the client's address, of IPv6 its /64. Nil if the request has a token, or its client is
    /// gone.
    package var client: String?

    /// Identifies a request that a client may send again. The store then responds with the stored response.
    package struct IdempotencyKey: Equatable, Sendable {
        /// 1 to 255 characters, chosen by the client.
        package let text: String
        /// SHA-256 of method, path and the body in canonical JSON: equal for the same request, however it is formatted.
        package let digest: [UInt8]

        package init(_ text: String, digest: [UInt8]) {
            self.text = text
            self.digest = digest
        }
    }

    package init(
        _ command: any Command, from sender: Sender, correlationID: String, expectedVersions: [Int]? = nil,
        idempotencyKey: IdempotencyKey? = nil
    ) {
        self.command = command
        self.sender = sender
        self.correlationID = correlationID
        self.expectedVersions = expectedVersions
        self.idempotencyKey = idempotencyKey
    }

    /// A person's command.
    package init(
        _ command: any Command, by actor: Identity, correlationID: String, expectedVersions: [Int]? = nil,
        idempotencyKey: IdempotencyKey? = nil
    ) {
        self.init(
            command, from: .person(actor), correlationID: correlationID, expectedVersions: expectedVersions,
            idempotencyKey: idempotencyKey)
    }

    /// What the gateway does itself.
    init(ofGateway command: any Command, expectedVersions: [Int]? = nil) {
        self.init(
            command, by: Identity(role: .ops, id: "gateway"),
            correlationID: "gateway-" + String(UInt64.random(in: .min ... .max), radix: 16), expectedVersions: expectedVersions)
    }

    /// The person who acts: the sender of each command but those that need no token.
    package var actor: Identity { sender.identity }

    /// The most rows that its execution writes.
    package var rows: Int { command.rows + (idempotencyKey == nil ? 0 : RowBound.response) }

    /// Who acts, for the log.
    package var actorInLog: String {
        switch command.origin {
        case .actor: sender.key ?? Self.anybody
        case .anybody: Self.anybody
        case .gateway(let name), .awaited(let name): name
        }
    }

    private static let anybody = "anybody"
}

extension IssuedCommand: Equatable {
    package static func == (one: IssuedCommand, other: IssuedCommand) -> Bool {
        one.command.isEqual(to: other.command) && one.sender == other.sender && one.correlationID == other.correlationID
            && one.expectedVersions == other.expectedVersions && one.idempotencyKey == other.idempotencyKey
            && one.client == other.client
    }
}
