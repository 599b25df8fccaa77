/// The codes with which the server closes connections (table in docs/protocol.md), grouped by what the client does
/// next.
package enum CloseCode: UInt16, Sendable {
    // The client does not reconnect. Never use these for transient conditions.
    case tlsOnly = 4000
    case unknownApp = 4001
    case disabledApp = 4003
    case overQuota = 4004
    case pathNotFound = 4005
    case badVersion = 4006
    case unsupportedVersion = 4007
    case missingVersion = 4008
    case notAuthorized = 4009

    // The client reconnects after a back-off of about a second.
    case overCapacity = 4100

    // The client reconnects at once.
    case restart = 4200
    case pongNotReceived = 4201

    // WebSocket's own codes (RFC 6455 section 7.4.1). The client reconnects after a back-off.
    case protocolError = 1002
    case binaryRefused = 1003
    case invalidUTF8 = 1007
    case messageTooLong = 1009
}
