/// An outgoing request.
package struct HTTPClientRequest: Sendable {
    /// An absolute http or https URL.
    package var url: String
    /// GET, POST or PUT.
    package var method: Method
    /// The headers in the order in which they are sent. A request with a body needs `Content-Type`: without it, libcurl
    /// would declare the body to be an HTML form.
    package var headers: [(name: String, value: String)]
    /// The body. A GET is sent without it.
    package var body: [UInt8]
    /// Whether the request must not use a connection that is open already, because that one may be dead.
    package var needsFreshConnection = false

    /// The supported methods.
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    package init(_ method: Method, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}
