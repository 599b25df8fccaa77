import CLibwebsockets
import HTTP

/// Access to libwebsockets' header table of a request.
enum HeaderTable {
    /// The length of a header's value in bytes; 0 if the header is absent.
    static func length(_ token: lws_token_indexes, _ wsi: OpaquePointer) -> Int {
        Int(lws_hdr_total_length(wsi, token))
    }

    /// A header's value; nil if it is absent.
    static func text(_ token: lws_token_indexes, _ wsi: OpaquePointer) -> String? {
        let length = length(token, wsi)
        guard length > 0 else { return nil }
        return read(length) { lws_hdr_copy(wsi, $0, Int32($1), token) }
    }

    /// A fragment of a header; nil if there is none at this index. A repeated header has a fragment per occurrence, and
    /// libwebsockets splits the path and the query into several.
    static func fragment(_ index: Int32, of token: lws_token_indexes, _ wsi: OpaquePointer) -> String? {
        let length = Int(lws_hdr_fragment_length(wsi, token, index))
        return read(length) { lws_hdr_copy_fragment(wsi, $0, Int32($1), token, index) }
    }

    /// The value of a header that libwebsockets has no token for; nil if it is absent.
    /// - Parameter name: in lower case, with the colon.
    static func custom(_ name: String, _ wsi: OpaquePointer) -> String? {
        let length = Int(lws_hdr_custom_length(wsi, name, Int32(name.utf8.count)))
        guard length >= 0 else { return nil }
        return read(length) { lws_hdr_custom_copy(wsi, $0, Int32($1), name, Int32(name.utf8.count)) }
    }

    /// The value of a header that the API reads; nil if it is absent.
    static func field(_ field: HTTPRequest.Field, _ wsi: OpaquePointer) -> String? {
        switch field {
        case .authorization: text(WSI_TOKEN_HTTP_AUTHORIZATION, wsi)
        case .contentType: text(WSI_TOKEN_HTTP_CONTENT_TYPE, wsi)
        case .cookie: text(WSI_TOKEN_HTTP_COOKIE, wsi)
        case .host: text(WSI_TOKEN_HOST, wsi)
        case .idempotencyKey: custom("idempotency-key:", wsi)
        case .ifMatch: text(WSI_TOKEN_HTTP_IF_MATCH, wsi)
        case .origin: text(WSI_TOKEN_ORIGIN, wsi)
        case .secFetchSite: custom("sec-fetch-site:", wsi)
        }
    }

    /// The percent-decoded path. libwebsockets splits it at each `;`. The fragments are joined again, because a channel
    /// name in the path may contain a `;`.
    static func path(_ token: lws_token_indexes, _ wsi: OpaquePointer) -> String {
        var path = fragment(0, of: token, wsi) ?? "/"
        var index: Int32 = 1
        while let fragment = fragment(index, of: token, wsi) {
            path += ";" + fragment
            index += 1
        }
        return path
    }

    /// The query's parameters, percent-decoded; a parameter without `=` has an empty value. libwebsockets splits the
    /// query at `;` as well as at `&`. So a fragment without `=` that follows a non-empty value is appended to that
    /// value, after a `;`.
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
        // One byte more: libwebsockets terminates the copy with a zero.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            let count = copy(buffer.baseAddress, length + 1)
            guard count >= 0 else { return nil }
            return String(decoding: UnsafeRawBufferPointer(buffer)[..<Int(count)], as: UTF8.self)
        }
    }
}
