import HTTP
import Primitives

/// Writes responses (RFC 9112 section 4).
package enum ResponseEncoder {
    /// The `Connection` header of a response (RFC 9112 section 9.3).
    package enum Connection: Sendable {
        /// None: the connection stays open, which is the default of HTTP/1.1.
        case persistent
        /// `keep-alive`: the connection stays open, which a client of HTTP/1.0 has asked for.
        case keepAlive
        /// `close`: this is the last response.
        case close
    }

    /// The interim response to a request that waits for it before it sends its body.
    package static func writeContinue(to bytes: inout [UInt8]) { append("HTTP/1.1 100 Continue\r\n\r\n", to: &bytes) }

    /// The response that ends HTTP on a connection: WebSocket frames follow (RFC 6455 section 4.2.2).
    /// - Parameter accept: the value of `Sec-WebSocket-Accept`.
    package static func writeSwitchingProtocols(accept: String, to bytes: inout [UInt8]) {
        append(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ", to: &bytes)
        bytes.append(contentsOf: accept.utf8)
        append("\r\n\r\n", to: &bytes)
    }

    /// Appends status line, header fields and body to `bytes`.
    /// - Parameters:
    ///   - correlationID: the request's correlation id, for `X-Correlation-ID`.
    ///   - withoutBody: true for a response to HEAD: the fields that describe the body are written, but not the body.
    package static func write(
        _ response: HTTPResponse, to bytes: inout [UInt8], correlationID: String, withoutBody: Bool, connection: Connection
    ) {
        append("HTTP/1.1 ", to: &bytes)
        bytes.appendDecimal(UInt64(response.status))
        append(" ", to: &bytes)
        append(reason(response.status), to: &bytes)
        if response.status != 204 {  // A 204 has no body and must not have Content-Length (RFC 9110 section 8.6).
            append("\r\nContent-Type: ", to: &bytes)
            bytes.append(contentsOf: response.contentType.utf8)
            append("\r\nContent-Length: ", to: &bytes)
            bytes.appendDecimal(UInt64(response.body.count))
            // Error texts quote the request, so a browser must not take them for a page. Responses contain personal data
            // and signatures, or are true only now, so caches must not store them.
            append("\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store", to: &bytes)
        }
        for header in response.headers.fields {
            append("\r\n", to: &bytes)
            bytes.append(contentsOf: header.name.utf8)
            append(": ", to: &bytes)
            bytes.append(contentsOf: header.value.utf8)
        }
        append("\r\nX-Correlation-ID: ", to: &bytes)
        bytes.append(contentsOf: correlationID.utf8)
        switch connection {
        case .persistent: break
        case .keepAlive: append("\r\nConnection: keep-alive", to: &bytes)
        case .close: append("\r\nConnection: close", to: &bytes)
        }
        append("\r\n\r\n", to: &bytes)
        if !withoutBody, response.status != 204 { bytes.append(contentsOf: response.body) }
    }

    @inline(__always)
    private static func append(_ text: StaticString, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Unknown"
        }
    }
}
