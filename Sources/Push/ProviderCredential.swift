import HTTPClient

/// The credential of a lane's requests: APNs' provider token or FCM's access token.
///
/// It performs no I/O: ``update(at:)`` returns the request that fetches a new one, ``handle(_:at:using:)`` handles its
/// result.
protocol ProviderCredential {
    /// True if the lane can send before the first ``CredentialEvent``.
    var isAvailableAtStart: Bool { get }

    /// When ``update(at:)`` has work without a request or response: milliseconds since 1970; `.max` if never.
    func nextTurn(at time: CredentialTime) -> Int64

    /// The credential for a request that starts now; nil if none is valid.
    mutating func use(at time: CredentialTime) -> IssuedCredential?

    /// The provider refused the credential of `generation` as too old, or the lane needs a first one (-1).
    mutating func renew(after generation: Int, at time: CredentialTime) -> [CredentialEvent]

    /// Periodic work. `fetch` is a request to start now; its result goes to ``handle(_:at:using:)``.
    mutating func update(at time: CredentialTime) -> (events: [CredentialEvent], fetch: HTTPClientRequest?)

    /// Handles the result of the request that ``update(at:)`` returned.
    mutating func handle(
        _ result: Result<HTTPClientResponse, HTTPClientError>, at time: CredentialTime,
        using rng: inout some RandomNumberGenerator
    ) -> [CredentialEvent]

    /// All connections were closed. No credential has been sent over the next ones yet.
    mutating func connectionsRetired()
}

/// A credential as requests carry it.
package struct IssuedCredential: Equatable, Sendable {
    /// The whole value of the header `authorization`.
    package let authorization: String
    /// Counts the credentials issued so far (0…).
    package let generation: Int
}

/// A moment on both clocks, in milliseconds.
struct CredentialTime {
    /// Since 1970: a token's issue time. The wall clock, which may be set.
    let clock: Int64
    /// Monotonic: measures a token's age.
    let tick: Int64
}

/// A change of a credential.
enum CredentialEvent {
    case update(Lane.CredentialUpdate)
    /// A new credential was issued. `kind` is the metric's label: `apns_jwt`, `fcm_oauth`.
    case renewed(kind: String)
    /// No further request may use the open connections.
    case connectionsOutdated(reason: String)
}
