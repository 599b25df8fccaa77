/// A copy of a request's head that stays valid, for a request that is handled again later. The body is not copied: the
/// caller keeps it.
package struct DeferredRequest: Sendable {
    private let head: RequestHead
    private let bytes: [UInt8]
    private let correlationID: String
    private let isLoopback: Bool
    private let isSecure: Bool

    package init(_ request: HTTPRequest) {
        head = request.head
        bytes = Array(request.bytes.prefix(request.head.byteCount))
        correlationID = request.correlationID
        isLoopback = request.isLoopback
        isSecure = request.isSecure
    }

    /// Calls `use` with the request. The request is valid only within the call.
    /// - Parameter body: the request's body, if the caller has kept it.
    package func withRequest<Result>(
        body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), _ use: (HTTPRequest) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            use(
                HTTPRequest(
                    head: head, bytes: bytes, body: body, correlationID: correlationID, isLoopback: isLoopback, isSecure: isSecure
                ))
        }
    }
}
