/// A response, ready to be written (RFC 9112).
package struct HTTPResponse: Equatable, Sendable {
    package let status: Int
    package let contentType: String
    package let body: [UInt8]
    /// Headers besides those that ``write(to:correlationID:withoutBody:closing:)`` adds; `Allow`, for example.
    package let headers: HTTPHeaders

    package init(_ status: Int, contentType: String, body: some Sequence<UInt8>, headers: HTTPHeaders = [:]) {
        self.status = status
        self.contentType = contentType
        self.body = Array(body)
        self.headers = headers
    }

    /// A response whose body is one line of plain text, like the errors of Pusher's HTTP API.
    package static func text(_ status: Int, _ text: String, headers: HTTPHeaders = [:]) -> HTTPResponse {
        HTTPResponse(status, contentType: "text/plain; charset=utf-8", body: (text + "\n").utf8, headers: headers)
    }

    /// A response whose body is JSON.
    package static func json(_ status: Int, _ json: some Sequence<UInt8>) -> HTTPResponse {
        HTTPResponse(status, contentType: "application/json", body: json)
    }

    /// The same response with `headers` added. A header of the same name is replaced.
    package func adding(_ headers: HTTPHeaders) -> HTTPResponse {
        guard !headers.isEmpty else { return self }
        return HTTPResponse(status, contentType: contentType, body: body, headers: self.headers.adding(headers))
    }

    /// 200 `{}`: the response to a publish.
    package static let emptyObject = HTTPResponse.json(200, "{}".utf8)

    /// Appends status line, headers and body to `bytes`.
    /// - Parameters:
    ///   - correlationID: the request's correlation id, for `X-Correlation-ID`.
    ///   - withoutBody: true for a response to HEAD: the headers that describe the body are written, but not the body.
    ///   - closing: whether to write `Connection: close`.
    package func write(to bytes: inout [UInt8], correlationID: String, withoutBody: Bool, closing: Bool) {
        bytes.append(contentsOf: "HTTP/1.1 ".utf8)
        bytes.append(contentsOf: String(status).utf8)
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: Self.reason(status).utf8)
        if status != 204 {  // A 204 has no body and must not have Content-Length (RFC 9110 section 8.6).
            bytes.append(contentsOf: "\r\nContent-Type: ".utf8)
            bytes.append(contentsOf: contentType.utf8)
            bytes.append(contentsOf: "\r\nContent-Length: ".utf8)
            bytes.append(contentsOf: String(body.count).utf8)
        }
        for header in headers.fields {
            bytes.append(contentsOf: "\r\n\(header.name): \(header.value)".utf8)
        }
        bytes.append(contentsOf: "\r\nX-Correlation-ID: ".utf8)
        bytes.append(contentsOf: correlationID.utf8)
        if closing { bytes.append(contentsOf: "\r\nConnection: close".utf8) }
        bytes.append(contentsOf: "\r\n\r\n".utf8)
        if !withoutBody { bytes.append(contentsOf: body) }
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 426: "Upgrade Required"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        default: "Unknown"
        }
    }
}
