import WebSocketFraming

/// Frames as clients send them, and the events of a decoder as values.
enum ClientFrame {
    static let continuation: UInt8 = 0x0
    static let text: UInt8 = 0x1
    static let binary: UInt8 = 0x2
    static let close: UInt8 = 0x8
    static let ping: UInt8 = 0x9
    static let pong: UInt8 = 0xA

    /// The bytes of a masked frame with the shortest header.
    static func bytes(
        _ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    ) -> [UInt8] {
        var bytes = [(isFinal ? 0x80 : 0) | opcode]
        switch payload.count {
        case ..<126: bytes.append(0x80 | UInt8(payload.count))
        case ..<65_536: bytes += [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: bytes += [0xFF] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        return bytes + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
    }

    static func text(_ text: String, isFinal: Bool = true) -> [UInt8] { bytes(Self.text, Array(text.utf8), isFinal: isFinal) }

    static func continuation(_ text: String, isFinal: Bool = true) -> [UInt8] {
        bytes(continuation, Array(text.utf8), isFinal: isFinal)
    }

    /// A close frame with a code.
    static func close(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
        bytes(close, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
    }
}

/// A ``FrameDecoder/Event`` with copies of its bytes.
enum DecodedEvent: Equatable {
    case text([UInt8])
    case binary
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, reason: [UInt8])
    case failed(UInt16)

    init(_ event: FrameDecoder.Event) {
        self =
            switch event {
            case .text(let bytes): .text(Array(bytes))
            case .binary: .binary
            case .ping(let payload): .ping(Array(payload))
            case .pong(let payload): .pong(Array(payload))
            case .close(let code, let reason): .close(code, reason: Array(reason))
            case .failed(let code, _): .failed(code)
            }
    }

    static func text(_ text: String) -> DecodedEvent { .text(Array(text.utf8)) }
}

extension FrameDecoder {
    /// Decodes bytes that arrive together.
    mutating func events(of received: [UInt8]) -> [DecodedEvent] {
        var received = received
        return received.withUnsafeMutableBytes { bytes in
            var events: [DecodedEvent] = []
            var offset = 0
            while let event = next(in: bytes, at: &offset) { events.append(DecodedEvent(event)) }
            precondition(offset == bytes.count, "the decoder has left bytes unread")
            return events
        }
    }

    /// Decodes bytes that arrive in pieces of the given lengths; the last piece is what remains.
    mutating func events(of received: [UInt8], pieces: [Int]) -> [DecodedEvent] {
        var events: [DecodedEvent] = []
        var rest = received[...]
        for length in pieces {
            events += self.events(of: Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return events + self.events(of: Array(rest))
    }
}
