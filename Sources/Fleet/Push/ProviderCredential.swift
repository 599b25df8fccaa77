import HTTPClient

/// The credential of the requests of a lane (one per provider and APNs environment): APNs' provider token or FCM's
/// access token.
///
/// It performs no I/O: ``update(at:)`` returns the request that fetches a new credential, and ``handle(_:at:using:)``
/// handles the result of that request.
protocol ProviderCredential {
    /// True if the lane can send before the first ``CredentialEvent``.
    var isAvailableAtStart: Bool { get }

    /// The time at which the lane calls ``update(at:)`` at the latest, in milliseconds since 1970; `.max` if nothing is
    /// due without a further request or response.
    func nextTurn(at time: CredentialTime) -> Int64

    /// The credential for a request that starts now; nil if none is valid.
    mutating func use(at time: CredentialTime) -> IssuedCredential?

    /// Requests a credential newer than that of `generation`, which the provider refused as too old. If `generation` is
    /// -1, the lane has no credential, and any valid one will do.
    mutating func renew(after generation: Int, at time: CredentialTime) -> [CredentialEvent]

    /// Renews the credential if that is due. `fetch` is a request to start now, whose result goes to
    /// ``handle(_:at:using:)``; nil if no fetch is due.
    mutating func update(at time: CredentialTime) -> (events: [CredentialEvent], fetch: HTTPClientRequest?)

    /// Handles the result of the request that ``update(at:)`` returned.
    mutating func handle(
        _ result: Result<HTTPClientResponse, HTTPClientError>, at time: CredentialTime,
        using rng: inout some RandomNumberGenerator
    ) -> [CredentialEvent]

    /// Call this after the lane has closed all its connections to the provider: the new ones have not carried a
    /// credential yet.
    mutating func connectionsRetired()
}

/// A credential as requests carry it.
package struct IssuedCredential: Equatable, Sendable {
    /// The whole value of the header `authorization`.
    package let authorization: String
    /// 0 for the first credential issued; 1 more for each further one.
    package let generation: Int
}

/// A moment on both clocks, in milliseconds.
struct CredentialTime {
    /// The wall clock, since 1970: gives a token's issue time. It may be set forward or back at any time.
    let clock: Int64
    /// The monotonic clock: measures a token's age.
    let tick: Int64
}

/// A change of a credential.
enum CredentialEvent {
    case update(Lane.CredentialUpdate)
    /// A new credential was issued. `kind` is the label of `push_credential_renewals_total`: `apns_jwt` or `fcm_oauth`.
    case renewed(kind: String)
    /// No further request may use the open connections.
    case connectionsOutdated(reason: String)
}
