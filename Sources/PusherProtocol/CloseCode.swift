/// Why the server ends a connection, grouped by what the client does next (PROTOCOL, close and error codes).
package enum CloseCode: UInt16, Sendable {
    // The client stays away: never for anything transient.
    case tlsOnly = 4000
    case unknownApp = 4001
    case disabledApp = 4003
    case overQuota = 4004
    case pathNotFound = 4005
    case badVersion = 4006
    case unsupportedVersion = 4007
    case missingVersion = 4008
    case notAuthorized = 4009

    // The client backs off and comes back.
    case overCapacity = 4100

    // The client comes back at once.
    case restart = 4200
    case pongNotReceived = 4201

    // Of WebSocket itself (RFC 6455 section 7.4.1): the client backs off and comes back.
    case binaryRefused = 1003
    case messageTooLong = 1009
}
