/// The server's part of the opening handshake (RFC 6455 section 4.2): what remains to be checked of a GET request whose
/// `Upgrade` field names `websocket` and whose `Connection` field names `upgrade`.
package enum WebSocketUpgrade: Equatable {
    /// The server responds with 101.
    /// - Parameter acceptText: the ASCII text whose SHA-1 digest, in base64, is the value of `Sec-WebSocket-Accept`
    ///   (section 4.2.2).
    case accepted(acceptText: [UInt8])
    /// The server responds with 426 and `Sec-WebSocket-Version: 13` (section 4.4).
    case unsupportedVersion
    /// The server responds with 400.
    case invalidKey

    /// - Parameters:
    ///   - version: the value of `Sec-WebSocket-Version`, without spaces around it; nil if the field is missing.
    ///   - key: the value of `Sec-WebSocket-Key`, likewise.
    package init(version: UnsafeRawBufferPointer?, key: UnsafeRawBufferPointer?) {
        guard let version, version.elementsEqual("13".utf8) else {
            self = .unsupportedVersion
            return
        }
        guard let key, Self.isKey(key) else {
            self = .invalidKey
            return
        }
        self = .accepted(acceptText: Array(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
    }

    /// Whether `text` is base64 of 16 bytes (RFC 4648 section 4): 22 digits and `==`.
    private static func isKey(_ text: UnsafeRawBufferPointer) -> Bool {
        text.count == 24 && text.suffix(2).elementsEqual("==".utf8) && text.prefix(22).allSatisfy(isBase64Digit)
    }

    private static func isBase64Digit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
