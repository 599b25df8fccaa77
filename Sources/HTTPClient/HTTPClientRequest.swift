/// An outgoing request.
package struct HTTPClientRequest: Sendable {
    /// Absolute, http or https.
    package var url: String
    /// GET or POST.
    package var method: Method
    /// In sending order. Include a body's content-type: libcurl's default is that of a form.
    package var headers: [(name: String, value: String)]
    /// Sent with POST only.
    package var body: [UInt8]

    /// The supported methods.
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    package init(_ method: Method, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}
