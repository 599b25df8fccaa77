import Foundation
import Testing
import WebSocketFraming

/// Compares the decoder's events with those of the Python package websockets: `Golden/websockets.txt`, written by
/// `Golden/generate.py`, which also says where the two differ intentionally. A line has the frames in hexadecimal and
/// the events.
@Suite struct WebsocketsVectorTests {
    @Test func readsWhatWebsocketsReads() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/websockets.txt")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 300)
        for line in lines {
            let fields = line.split(separator: " ").map(String.init)
            var decoder = FrameDecoder(messageBytesMax: 300)
            let events = decoder.events(of: Self.bytes(fields[0])).map(Self.text)
            #expect(events == Array(fields.dropFirst()), "\(line)")
        }
    }

    private static func text(_ event: DecodedEvent) -> String {
        switch event {
        case .text(let bytes): "text:" + hexadecimal(bytes)
        case .binary: "binary"
        case .ping(let payload): "ping:" + hexadecimal(payload)
        case .pong(let payload): "pong:" + hexadecimal(payload)
        case .close(let code, let reason): "close:\(code.map { "\($0)" } ?? ""):" + hexadecimal(reason)
        case .failed(let code): "failed:\(code)"
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.map { UInt8($0 < 0x3A ? $0 - 0x30 : $0 - 0x57) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
