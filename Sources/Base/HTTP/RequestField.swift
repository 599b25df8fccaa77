extension HTTPRequest {
    /// The header fields that this server reads. The parser checks the other ones and skips them.
    package enum Field: UInt8, CaseIterable, Sendable {
        case accessControlRequestHeaders, authorization, connection, contentEncoding, contentLength, contentType, cookie, expect
        case forwarded, host, idempotencyKey, ifMatch
        case origin, secFetchSite, secWebSocketKey, secWebSocketProtocol, secWebSocketVersion, transferEncoding, upgrade
        case xCorrelationID, xForwardedFor, xForwardedProto, xRealIP

        /// The field of this name, in any case. Nil if this server does not read it.
        @inline(__always)
        package init?(name: UnsafeRawBufferPointer) {
            guard let field = Self.candidate(count: name.count, first: name.first ?? 0), name.equalsIgnoringCase(field.name)
            else { return nil }
            self = field
        }

        /// The only field whose name can have this length and this first letter: so one comparison finds a field.
        private static func candidate(count: Int, first: UInt8) -> Field? {
            let first = first | 0x20
            switch count {
            case 4: return .host
            case 6: return first == UInt8(ascii: "c") ? .cookie : first == UInt8(ascii: "o") ? .origin : .expect
            case 7: return .upgrade
            case 8: return .ifMatch
            case 9: return first == UInt8(ascii: "f") ? .forwarded : .xRealIP
            case 10: return .connection
            case 12: return .contentType
            case 13: return .authorization
            case 14: return first == UInt8(ascii: "c") ? .contentLength : .secFetchSite
            case 15: return first == UInt8(ascii: "x") ? .xForwardedFor : .idempotencyKey
            case 16: return first == UInt8(ascii: "x") ? .xCorrelationID : .contentEncoding
            case 17:
                return first == UInt8(ascii: "x")
                    ? .xForwardedProto : first == UInt8(ascii: "s") ? .secWebSocketKey : .transferEncoding
            case 21: return .secWebSocketVersion
            case 22: return .secWebSocketProtocol
            case 30: return .accessControlRequestHeaders
            default: return nil
            }
        }

        /// In lower case.
        package var name: StaticString {
            switch self {
            case .accessControlRequestHeaders: "access-control-request-headers"
            case .authorization: "authorization"
            case .connection: "connection"
            case .contentEncoding: "content-encoding"
            case .contentLength: "content-length"
            case .contentType: "content-type"
            case .cookie: "cookie"
            case .expect: "expect"
            case .forwarded: "forwarded"
            case .host: "host"
            case .idempotencyKey: "idempotency-key"
            case .ifMatch: "if-match"
            case .origin: "origin"
            case .secFetchSite: "sec-fetch-site"
            case .secWebSocketKey: "sec-websocket-key"
            case .secWebSocketProtocol: "sec-websocket-protocol"
            case .secWebSocketVersion: "sec-websocket-version"
            case .transferEncoding: "transfer-encoding"
            case .upgrade: "upgrade"
            case .xCorrelationID: "x-correlation-id"
            case .xForwardedFor: "x-forwarded-for"
            case .xForwardedProto: "x-forwarded-proto"
            case .xRealIP: "x-real-ip"
            }
        }

        /// Whether a request may have several lines of this field. Their values form one list (RFC 9110 section 5.3).
        /// Of every other field a second line is an error. `X-Correlation-ID` and `X-Real-IP` are no lists, but a proxy may
        /// add its own, which is no reason to reject the request.
        package var mayRepeat: Bool {
            switch self {
            case .accessControlRequestHeaders, .connection, .contentEncoding, .expect, .forwarded, .ifMatch: true
            case .secWebSocketProtocol, .upgrade: true
            case .xCorrelationID, .xForwardedFor, .xForwardedProto, .xRealIP: true
            default: false
            }
        }
    }
}
