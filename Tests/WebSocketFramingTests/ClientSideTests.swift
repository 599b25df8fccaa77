import Testing
import WebSocketFraming

/// The client's side: frames to a server, and those of a server.
@Suite struct ClientSideTests {
    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536])
    func encodesMaskedTextOfEveryLength(count: Int) {
        let payload = (0..<count).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        let frame = ClientFrameEncoder.text(payload, key: UInt32(littleEndian: 0x3D21_FA37))
        #expect(frame == ClientFrame.bytes(ClientFrame.text, payload))
        var server = FrameDecoder(messageBytesMax: 100_000)
        #expect(server.events(of: frame) == [.text(payload)])
    }

    @Test func encodesPongAndClose() {
        var server = FrameDecoder(messageBytesMax: 100)
        let pong = [UInt8](1...16).withUnsafeBytes { ClientFrameEncoder.pong(payload: $0, key: 0x0102_0304) }
        #expect(server.events(of: pong) == [.pong([UInt8](1...16))])
        #expect(server.events(of: ClientFrameEncoder.close(code: 1000, key: 9)) == [.close(1000, reason: [])])
    }

    @Test(arguments: [1, 2, 3, 7, 300])
    func decodesAServersFramesInPieces(of length: Int) {
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 200)
        let stream =
            FrameEncoder.textHeader(length: text.count) + text + FrameEncoder.ping(payload: [1, 2])
            + FrameEncoder.close(code: 4100, reason: "full")
        var client = FrameDecoder(messageBytesMax: 1_000, of: .server)
        let pieces = [Int](repeating: length, count: stream.count / length)
        #expect(
            client.events(of: stream, pieces: pieces) == [.text(text), .ping([1, 2]), .close(4100, reason: Array("full".utf8))])
    }

    @Test func refusesMaskedFramesOfAServer() {
        var client = FrameDecoder(messageBytesMax: 1_000, of: .server)
        #expect(client.events(of: ClientFrame.text("hi")) == [.failed(1002)])
    }
}
