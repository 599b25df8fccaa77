/// Why a request cannot be read. The end of such a request is unknown, so the connection must close after the response.
package struct RequestError: Error, Equatable {
    /// 400, 413, 431, 501 or 505.
    package let status: Int
    /// For the client's developer: what is wrong, and what is expected. Contains no bytes of the request.
    package let text: String

    package init(_ status: Int, _ text: String) {
        self.status = status
        self.text = text
    }
}
