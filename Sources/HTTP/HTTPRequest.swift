/// A request as the API sees it: no socket, no header table.
///
/// `body` and `field` are borrowed from whoever received it: they are read within the call and not kept. What has to wait
/// is ``DeferredRequest``.
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

    /// The header fields that matter here. They are looked up when asked for: most requests need one or none.
    package enum Field: CaseIterable, Sendable {
        case authorization, contentType, cookie, host, idempotencyKey, ifMatch, origin, secFetchSite
    }

    package let method: Method
    /// Percent-decoded, without the query.
    package let path: String
    /// Percent-decoded, in the order written.
    package let query: [(name: String, value: String)]
    /// The value of a header field, if it is there.
    package let field: (Field) -> String?
    /// What ties it to all that comes of it: 1 to 128 printable ASCII characters.
    package let correlationID: String
    /// Whether the peer is this machine, and no proxy that speaks for others.
    package let isLoopback: Bool
    package let body: UnsafeRawBufferPointer
    /// Whether nothing was said of a body's length where one may be expected: there is none.
    package let isLengthMissing: Bool
    /// Nil, or how many bytes a body may have when this one has more and was not read.
    package let bodyBytesMax: Int?

    package init(
        method: Method, path: String, query: [(name: String, value: String)] = [],
        field: @escaping (Field) -> String? = { _ in nil }, correlationID: String = "", isLoopback: Bool = false,
        body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), isLengthMissing: Bool = false,
        bodyBytesMax: Int? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.field = field
        self.correlationID = correlationID
        self.isLoopback = isLoopback
        self.body = body
        self.isLengthMissing = isLengthMissing
        self.bodyBytesMax = bodyBytesMax
    }

    /// The `Authorization` header.
    package var authorization: String? { field(.authorization) }
    /// The `Origin` header: whose page a browser sends this for.
    package var origin: String? { field(.origin) }

    /// The first value of a query parameter.
    package func first(_ name: String) -> String? { query.first { $0.name == name }?.value }
}

/// A request that has to wait, with all it needs to be asked again.
package struct DeferredRequest {
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
            bodyBytesMax: request.bodyBytesMax)
    }

    /// Lends the request out once more.
    package func withRequest<Result>(_ use: (HTTPRequest) -> Result) -> Result {
        body.withUnsafeBytes { bytes in
            use(
                HTTPRequest(
                    method: request.method, path: request.path, query: request.query, field: request.field,
                    correlationID: request.correlationID, isLoopback: request.isLoopback, body: bytes,
                    isLengthMissing: request.isLengthMissing, bodyBytesMax: request.bodyBytesMax))
        }
    }
}
