import FleetRules

/// What those who count and those who look hear of a lane. Of jobs only what became of them in its hands: what expired or was
/// cancelled in the store's queue, and which devices are gone, is in the store's answers.
package enum LaneEvent: Equatable, Sendable {
    /// `seconds`: from the request's start to the answer, here and below.
    case accepted(PushJob, seconds: Double)
    /// The provider will never take it; whether it has failed for good, the store says.
    case rejected(PushJob, reason: String, seconds: Double)
    /// It was tried, and goes back to the store.
    case retried(PushJob, reason: String, seconds: Double)
    case expired(PushJob)
    case cancelled(PushJob, reason: String)
    /// Somebody has to mend something, and this is what.
    case alarm(String)
    /// Nothing is sent for a while; `milliseconds` nil: until what is missing has come.
    case paused(reason: String, milliseconds: Int64?)
    /// It sends again.
    case resumed
    case credentialRenewed(CredentialKind)
    /// All connections were thrown away.
    case connectionRetired(reason: String)
}

/// What a provider knows us by.
package enum CredentialKind: String, CaseIterable, Sendable {
    /// The signed token that goes with every request to APNs.
    case apnsToken = "apns_jwt"
    /// The access token of FCM, for which an assertion is exchanged.
    case fcmAccess = "fcm_oauth"
}
