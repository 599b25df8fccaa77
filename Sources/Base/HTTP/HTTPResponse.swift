import Primitives

/// A response to a request. `HTTP1.ResponseEncoder` writes it.
package struct HTTPResponse: Equatable, Sendable {
    package let status: Int
    package let contentType: String
    package let body: [UInt8]
    /// Headers besides those that the encoder adds; `Allow`, for example.
    package let headers: HTTPHeaders

    package init(_ status: Int, contentType: String, body: some Sequence<UInt8>, headers: HTTPHeaders = [:]) {
        self.status = status
        self.contentType = contentType
        self.body = Array(body)  // no copy if it is an array
        self.headers = headers
    }

    /// A response whose body is one line of plain text, like the errors of Pusher's HTTP API. Control characters are escaped:
    /// texts quote requests, and backends write them to their logs.
    package static func text(_ status: Int, _ text: String, headers: HTTPHeaders = [:]) -> HTTPResponse {
        HTTPResponse(status, contentType: "text/plain; charset=utf-8", body: (text.terminalEscaped + "\n").utf8, headers: headers)
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
}
