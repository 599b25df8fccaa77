import CLibwebsockets
import HTTPAPI

/// A request's head, read from the library's header table, and what is wrong with it.
///
/// The library has decoded the path and split the query. It lets through what could be used to smuggle a second request
/// past us (RFC 9112 section 6.3), and hangs for ever on some of it, so framing is judged here, before any body.
struct RequestHead {
    /// Bytes of request line and known headers beyond which the answer is 431.
    static let bytesMax = 8_192

    let method: HTTPRequest.Method
    let path: String
    /// The body's length as announced; 0 when there is none.
    let contentLength: Int
    let expectsContinue: Bool

    /// What to answer before closing.
    struct Refusal: Error {
        let response: HTTPResponse

        init(_ status: Int, _ text: String) { response = .text(status, text) }
    }

    /// - Throws: the refusal, after which the connection has to be closed: its framing cannot be trusted.
    init(_ wsi: OpaquePointer, bodyBytesMax: Int) throws(Refusal) {
        guard let (method, path) = Self.methodAndPath(wsi) else {
            throw Refusal(405, "Method not allowed: use GET, HEAD, POST, PUT or DELETE")
        }
        self.method = method
        self.path = path
        guard Self.headBytes(wsi) <= Self.bytesMax else {
            throw Refusal(431, "Request line and headers exceed \(Self.bytesMax) bytes")
        }
        guard Header.length(WSI_TOKEN_HTTP_TRANSFER_ENCODING, wsi) == 0 else {
            throw Refusal(411, "Transfer-Encoding is not supported: send a Content-Length")
        }
        contentLength = try Self.contentLength(wsi, isRequired: method == .post || method == .put || method == .patch)
        guard contentLength <= bodyBytesMax else {
            throw Refusal(413, "The body exceeds the allowed maximum (\(bodyBytesMax) bytes)")
        }
        expectsContinue = Header.text(WSI_TOKEN_HTTP_EXPECT, wsi)?.lowercased() == "100-continue"
    }

    private static func contentLength(_ wsi: OpaquePointer, isRequired: Bool) throws(Refusal) -> Int {
        guard let text = Header.text(WSI_TOKEN_HTTP_CONTENT_LENGTH, wsi) else {
            if isRequired { throw Refusal(411, "Content-Length is required") }
            return 0
        }
        guard Header.fragment(1, of: WSI_TOKEN_HTTP_CONTENT_LENGTH, wsi) == nil,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let length = Int(text)
        else { throw Refusal(400, "Invalid Content-Length: expected it once, in digits") }
        return length
    }

    private static func methodAndPath(_ wsi: OpaquePointer) -> (HTTPRequest.Method, String)? {
        var start: UnsafeMutablePointer<CChar>?
        var length: Int32 = 0
        let index = lws_http_get_uri_and_method(wsi, &start, &length)
        guard index >= 0, let start, let method = method(index) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(length))
        return (method, String(decoding: bytes, as: UTF8.self))
    }

    /// The library numbers methods in the order of its own list.
    private static func method(_ index: Int32) -> HTTPRequest.Method? {
        switch Int(index) {
        case LWSHUMETH_GET: .get
        case LWSHUMETH_POST: .post
        case LWSHUMETH_OPTIONS: .options
        case LWSHUMETH_PUT: .put
        case LWSHUMETH_PATCH: .patch
        case LWSHUMETH_DELETE: .delete
        case LWSHUMETH_HEAD: .head
        default: nil
        }
    }

    private static func headBytes(_ wsi: OpaquePointer) -> Int {
        (0..<WSI_TOKEN_COUNT.rawValue).reduce(0) { $0 + Header.length(lws_token_indexes($1), wsi) }
    }
}

/// Reading the library's header table.
enum Header {
    static func length(_ token: lws_token_indexes, _ wsi: OpaquePointer) -> Int {
        Int(lws_hdr_total_length(wsi, token))
    }

    /// A header's text; nil when it is absent.
    static func text(_ token: lws_token_indexes, _ wsi: OpaquePointer) -> String? {
        let length = length(token, wsi)
        guard length > 0 else { return nil }
        return read(length) { lws_hdr_copy(wsi, $0, Int32($1), token) }
    }

    /// One part of a header that came, or was split, in several.
    static func fragment(_ index: Int32, of token: lws_token_indexes, _ wsi: OpaquePointer) -> String? {
        let length = Int(lws_hdr_fragment_length(wsi, token, index))
        guard length > 0 else { return nil }
        return read(length) { lws_hdr_copy_fragment(wsi, $0, Int32($1), token, index) }
    }

    /// The query's parameters, decoded. One without a value has the empty one.
    static func query(_ wsi: OpaquePointer) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        guard length(WSI_TOKEN_HTTP_URI_ARGS, wsi) > 0 else { return [] }
        var index: Int32 = 0
        while let text = fragment(index, of: WSI_TOKEN_HTTP_URI_ARGS, wsi) {
            let split = text.utf8.firstIndex(of: UInt8(ascii: "=")) ?? text.endIndex
            parameters.append((String(text[..<split]), String(text[split...].dropFirst())))
            index += 1
        }
        return parameters
    }

    private static func read(_ length: Int, _ copy: (UnsafeMutablePointer<CChar>?, Int) -> Int32) -> String? {
        // One more: the library ends what it copies with a zero.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            let count = copy(buffer.baseAddress, length + 1)
            guard count >= 0 else { return nil }
            return String(decoding: UnsafeRawBufferPointer(buffer)[..<Int(count)], as: UTF8.self)
        }
    }
}
