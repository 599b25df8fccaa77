/// A request on its way out.
package struct HTTPClientRequest: Sendable {
    package var url: String
    package var method: Method
    /// In the order in which they are sent. A body's content-type belongs here: libcurl's own is that of a form.
    package var headers: [(name: String, value: String)]
    /// Only a POST sends it.
    package var body: [UInt8]

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
