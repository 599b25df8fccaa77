import Testing

@testable import Bench

@Suite struct ResponseReaderTests {
    /// Reads a text in pieces of some length.
    private func read(
        _ text: String, pieces length: Int, _ reader: inout ResponseReader
    ) throws -> [ResponseReader.Response] {
        let bytes = Array(text.utf8)
        return try stride(from: 0, to: bytes.count, by: length).compactMap { start in
            try bytes[start..<min(start + length, bytes.count)].withUnsafeBytes { try reader.read($0) }
        }
    }

    @Test(arguments: [1, 3, 1_000])
    func readsBodiesWithALength(pieces: Int) throws {
        var reader = ResponseReader()
        for _ in 0..<2 {
            let text = "HTTP/1.1 200 OK\r\ncontent-length:  4\r\nX: y\r\n\r\nab\r\n"
            #expect(try read(text, pieces: pieces, &reader) == [.init(status: 200, body: Array("ab\r\n".utf8))])
            #expect(reader.isIdle)
        }
    }

    @Test(arguments: [1, 4, 1_000])
    func readsChunks(pieces: Int) throws {
        var reader = ResponseReader()
        let text = "HTTP/1.1 503 No\r\nTransfer-Encoding: Chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        let expected = ResponseReader.Response(status: 503, body: Array("abcde".utf8), closesConnection: true)
        #expect(try read(text, pieces: pieces, &reader) == [expected])
    }

    @Test func aResponseWithoutABodyEndsWithItsHead() throws {
        var reader = ResponseReader()
        #expect(try read("HTTP/1.1 204 No Content\r\n\r\n", pieces: 1, &reader) == [.init(status: 204)])
    }

    @Test(arguments: [
        "SSH-2.0-x\r\n\r\n", "HTTP/1.1 1 x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "HTTP/1.1 200 OK\r\n" + String(repeating: "x", count: 40_000),
    ])
    func refusesWhatIsNoResponse(text: String) {
        var reader = ResponseReader()
        #expect(throws: ResponseReader.Failure.self) { try read(text, pieces: 100_000, &reader) }
    }
}
