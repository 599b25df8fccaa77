/// An HTTP request: method, path, query, header fields and body.
///
/// `body` and `field` are borrowed from the event loop, and valid only while it handles the request.
/// ``DeferredRequest`` is a copy that stays valid.
package struct HTTPRequest {
    package enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        case options = "OPTIONS"
    }

    /// The header fields that the API reads. A field is looked up only when it is needed: most requests need one or
    /// none.
    package enum Field: CaseIterable, Sendable {
        case authorization, contentType, cookie, host, idempotencyKey, ifMatch, origin, secFetchSite
    }

    package let method: Method
    /// Percent-decoded, without the query.
    package let path: String
    /// The query's parameters, percent-decoded, in the order written.
    package let query: [(name: String, value: String)]
    /// Looks up a header field. Nil if the request does not have it.
    package let field: (Field) -> String?
    /// Identifies the request in its response, events, audit entry and log lines: 1 to 128 printable ASCII characters.
    package let correlationID: String
    /// Whether the request comes from this machine, and not through a proxy on this machine.
    package let isLoopback: Bool
    /// The body. Empty if the request has none, or if the body exceeds ``exceededBodyLimit``.
    package let body: UnsafeRawBufferPointer
    /// Whether the method is one that usually has a body, but the request has no `Content-Length`. If so, `body` is
    /// empty.
    package let isLengthMissing: Bool
    /// The maximum size of a body in bytes, if this request's body is larger and was therefore not read. Nil for all
    /// other requests.
    package let exceededBodyLimit: Int?

    package init(
        method: Method, path: String, query: [(name: String, value: String)] = [],
        field: @escaping (Field) -> String? = { _ in nil }, correlationID: String = "", isLoopback: Bool = false,
        body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), isLengthMissing: Bool = false,
        exceededBodyLimit: Int? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.field = field
        self.correlationID = correlationID
        self.isLoopback = isLoopback
        self.body = body
        self.isLengthMissing = isLengthMissing
        self.exceededBodyLimit = exceededBodyLimit
    }

    /// The `Authorization` header.
    package var authorization: String? { field(.authorization) }
    /// The `Origin` header: the origin of the web page for which a browser sent the request.
    package var origin: String? { field(.origin) }

    /// The value of a query parameter, the first if there are several. Nil if absent.
    package func queryValue(_ name: String) -> String? { query.first { $0.name == name }?.value }
}

/// A copy of a request whose token cannot be verified until the keys of the token's issuer have been fetched. It
/// contains everything that is needed to route the request again.
package struct DeferredRequest {
    /// The request without its body.
    private let request: HTTPRequest
    private let body: [UInt8]

    package init(_ request: HTTPRequest) {
        let fields = Dictionary(
            uniqueKeysWithValues: HTTPRequest.Field.allCases.compactMap { field in
                request.field(field).map { (field, $0) }
            })
        body = Array(request.body)
        self.request = HTTPRequest(
            method: request.method, path: request.path, query: request.query, field: { fields[$0] },
            correlationID: request.correlationID, isLoopback: request.isLoopback, isLengthMissing: request.isLengthMissing,
            exceededBodyLimit: request.exceededBodyLimit)
    }

    /// Calls `use` with the request. The request is valid only within the call.
    package func withRequest<Result>(_ use: (HTTPRequest) -> Result) -> Result {
        body.withUnsafeBytes { bytes in
            use(
                HTTPRequest(
                    method: request.method, path: request.path, query: request.query, field: request.field,
                    correlationID: request.correlationID, isLoopback: request.isLoopback, body: bytes,
                    isLengthMissing: request.isLengthMissing, exceededBodyLimit: request.exceededBodyLimit))
        }
    }
}
