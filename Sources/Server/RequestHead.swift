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
        guard let (method, token) = Self.methods.first(where: { Header.length($0.token, wsi) > 0 }) else {
            throw Refusal(405, "Method not allowed: use GET, HEAD, POST, PUT or DELETE")
        }
        self.method = method
        path = Header.path(token, wsi)
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

    /// The library keeps the path under the method's own name.
    private static let methods: [(method: HTTPRequest.Method, token: lws_token_indexes)] = [
        (.post, WSI_TOKEN_POST_URI), (.get, WSI_TOKEN_GET_URI), (.options, WSI_TOKEN_OPTIONS_URI), (.put, WSI_TOKEN_PUT_URI),
        (.patch, WSI_TOKEN_PATCH_URI), (.delete, WSI_TOKEN_DELETE_URI), (.head, WSI_TOKEN_HEAD_URI),
    ]

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

    /// A header the library has no token for, named in lower case with its colon.
    static func custom(_ name: String, _ wsi: OpaquePointer) -> String? {
        let length = Int(lws_hdr_custom_length(wsi, name, Int32(name.utf8.count)))
        guard length > 0 else { return nil }
        return read(length) { lws_hdr_custom_copy(wsi, $0, Int32($1), name, Int32(name.utf8.count)) }
    }

    /// The path, decoded. The library splits it at `;`, which channel names may hold.
    static func path(_ token: lws_token_indexes, _ wsi: OpaquePointer) -> String {
        var path = fragment(0, of: token, wsi) ?? "/"
        var index: Int32 = 1
        while let more = fragment(index, of: token, wsi) {
            path += ";" + more
            index += 1
        }
        return path
    }

    /// The query's parameters, decoded. One without a value has the empty one. The library splits at `;` as well as
    /// at `&`: what has no name of its own belongs to the parameter before.
    static func query(_ wsi: OpaquePointer) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        guard length(WSI_TOKEN_HTTP_URI_ARGS, wsi) > 0 else { return [] }
        var index: Int32 = 0
        while let text = fragment(index, of: WSI_TOKEN_HTTP_URI_ARGS, wsi) {
            index += 1
            if let split = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
                parameters.append((String(text[..<split]), String(text[split...].dropFirst())))
            } else if parameters.last?.value.isEmpty == false {
                parameters[parameters.count - 1].value += ";" + text
            } else {
                parameters.append((text, ""))
            }
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
