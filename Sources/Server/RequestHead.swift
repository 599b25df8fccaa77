import CLibwebsockets
import HTTP

/// A request's head, read from libwebsockets' header table and checked.
///
/// libwebsockets decodes the path and splits the query, but does not check the framing (`Content-Length` and
/// `Transfer-Encoding`). Ambiguous framing allows request smuggling (RFC 9112 section 6.3), or makes libwebsockets wait
/// forever for a body. So the framing is checked here, before any body is read.
struct RequestHead {
    /// The largest total of the path, the query and the headers that libwebsockets has tokens for, in bytes. If a
    /// request exceeds it, the response is 431.
    static let bytesMax = 8_192

    let method: HTTPRequest.Method
    let path: String
    /// The announced length of the body in bytes; 0 without `Content-Length`.
    let contentLength: Int
    /// Whether the client waits for an interim response before it sends the body (`Expect: 100-continue`).
    let expectsContinue: Bool
    /// Whether the request has a method with a body (POST, PUT, PATCH) but no `Content-Length`. The body is not read,
    /// and the connection closes after the response (411).
    let isLengthMissing: Bool
    /// The body limit in bytes if the announced body exceeds it, so that the response is 413; otherwise nil.
    let exceededBodyLimit: Int?

    /// Why a request cannot be read. The connection closes after the response.
    struct FramingError: Error {
        let status: Int
        let text: String
        /// The request's path, if it could be read.
        var path = ""

        init(_ status: Int, _ text: String, path: String = "") {
            self.status = status
            self.text = text
            self.path = path
        }
    }

    /// - Throws: ``FramingError``. The caller must close the connection, because its framing cannot be trusted.
    init(_ wsi: OpaquePointer, bodyBytesMax: Int) throws(FramingError) {
        guard let (method, token) = Self.methods.first(where: { HeaderTable.length($0.token, wsi) > 0 }) else {
            throw FramingError(405, "Method not allowed: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
        }
        self.method = method
        path = HeaderTable.path(token, wsi)
        guard Self.headBytes(wsi) <= Self.bytesMax else {
            throw FramingError(431, "Request line and headers exceed \(Self.bytesMax) bytes", path: path)
        }
        guard HeaderTable.length(WSI_TOKEN_HTTP_TRANSFER_ENCODING, wsi) == 0 else {
            throw FramingError(411, "Transfer-Encoding is not supported: send a Content-Length", path: path)
        }
        let contentLength = try Self.contentLength(wsi, path)
        self.contentLength = contentLength ?? 0
        isLengthMissing = contentLength == nil && (method == .post || method == .put || method == .patch)
        exceededBodyLimit = self.contentLength > bodyBytesMax ? bodyBytesMax : nil
        expectsContinue = HeaderTable.text(WSI_TOKEN_HTTP_EXPECT, wsi)?.lowercased() == "100-continue"
    }

    private static func contentLength(_ wsi: OpaquePointer, _ path: String) throws(FramingError) -> Int? {
        guard let text = HeaderTable.text(WSI_TOKEN_HTTP_CONTENT_LENGTH, wsi) else { return nil }
        guard HeaderTable.fragment(1, of: WSI_TOKEN_HTTP_CONTENT_LENGTH, wsi) == nil,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let length = Int(text)
        else { throw FramingError(400, "Invalid Content-Length: expected one header of digits only", path: path) }
        return length
    }

    /// The methods, and the token under which libwebsockets stores the path of a request with that method.
    private static let methods: [(method: HTTPRequest.Method, token: lws_token_indexes)] = [
        (.post, WSI_TOKEN_POST_URI), (.get, WSI_TOKEN_GET_URI), (.options, WSI_TOKEN_OPTIONS_URI), (.put, WSI_TOKEN_PUT_URI),
        (.patch, WSI_TOKEN_PATCH_URI), (.delete, WSI_TOKEN_DELETE_URI), (.head, WSI_TOKEN_HEAD_URI),
    ]

    private static func headBytes(_ wsi: OpaquePointer) -> Int {
        (0..<WSI_TOKEN_COUNT.rawValue).reduce(0) { $0 + HeaderTable.length(lws_token_indexes($1), wsi) }
    }
}
