/// A request as the API sees it: no socket, no header table.
///
/// `body` is borrowed from whoever received it: it is read within the call and not kept.
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

    package let method: Method
    /// Percent-decoded, without the query.
    package let path: String
    /// Percent-decoded, in the order written.
    package let query: [(name: String, value: String)]
    /// The `Authorization` header.
    package let authorization: String?
    /// The `Origin` header: whose page a browser sends this for.
    package let origin: String?
    /// Whether the peer is this machine.
    package let isLoopback: Bool
    package let body: UnsafeRawBufferPointer

    package init(
        method: Method, path: String, query: [(name: String, value: String)] = [], authorization: String? = nil,
        origin: String? = nil, isLoopback: Bool = false,
        body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.authorization = authorization
        self.origin = origin
        self.isLoopback = isLoopback
        self.body = body
    }
}
