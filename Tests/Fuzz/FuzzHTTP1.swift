import HTTP
import HTTP1

/// Parses any bytes as requests, whole and in pieces. Invariants: nothing crashes or reads outside the buffer, pieces
/// give the same result as the whole, and what is accepted is well-formed. The first two bytes select where the pieces
/// end.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP1(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count >= 2 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let pieceBytes = Int(input[0]) % 64 + 1
    let bytes = Array(input[2...])
    let whole = Reading(bytes, pieceBytes: max(1, bytes.count))
    let pieces = Reading(bytes, pieceBytes: pieceBytes)
    invariant(whole == pieces, "pieces of \(pieceBytes) bytes give \(pieces), the whole \(whole)")
    checkChunked(bytes, pieceBytes: pieceBytes)
    return 0
}

private let bodyBytesMax = 300

/// What a parser makes of a request's head.
private enum Reading: Equatable {
    case incomplete
    case invalid(status: Int, text: String)
    /// The texts of the request, and the size of its head in bytes.
    case complete([String], Int)

    init(_ bytes: [UInt8], pieceBytes: Int) {
        var parser = RequestHeadParser()
        for end in stride(from: pieceBytes, to: bytes.count + pieceBytes, by: pieceBytes) {
            let received = Array(bytes.prefix(end))
            let result = received.withUnsafeBytes { parser.parse($0) }
            switch result {
            case .incomplete: continue
            case .invalid(let error):
                invariant([400, 431, 501, 505].contains(error.status) && !error.text.isEmpty, "an error has a status and a text")
                self = .invalid(status: error.status, text: error.text)
            case .complete(let head):
                self = .complete(received.withUnsafeBytes { texts(head, $0) }, head.byteCount)
            }
            return
        }
        invariant(bytes.count < RequestHeadParser.headBytesDefault, "a head is limited")
        self = .incomplete
    }
}

/// Reads all of a request and checks it.
private func texts(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> [String] {
    invariant(
        (18...min(bytes.count, RequestHeadParser.headBytesDefault)).contains(head.byteCount), "a head ends within the bytes")
    invariant(bytes[..<head.byteCount].suffix(4).elementsEqual("\r\n\r\n".utf8), "a head ends with an empty line")
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    let request = HTTPRequest(head: head, bytes: bytes, body: empty, correlationID: "", isLoopback: false)
    invariant(request.rawPath.first == UInt8(ascii: "/") && request.path.utf8.first == UInt8(ascii: "/"), "a path begins with /")
    invariant(!request.path.utf8.contains(0) && PercentDecoding.isUTF8(request.rawPath), "a path is text")
    invariant(request.rawQuery.allSatisfy { (0x21...0x7E).contains($0) }, "a query is visible ASCII")
    let query = request.query
    for parameter in query where !parameter.name.unicodeScalars.contains("\u{FFFD}") {
        invariant(request.queryValue(parameter.name) != nil, "a parameter is found by its name")
    }
    invariant(head[.host] != nil || !head.isHTTP11, "a request has a host")
    invariant(head[.transferEncoding] == nil || head[.contentLength] == nil, "the length is unambiguous")
    if case .length(let length) = head.bodyFraming { invariant(length >= 0, "a length is not negative") }
    let fields = HTTPRequest.Field.allCases.map { request.field($0) ?? "-" }
    invariant(fields.allSatisfy { !$0.utf8.contains { $0 < 0x20 && $0 != 9 } }, "a value has no control characters")
    DeferredRequest(request).withRequest { copy in
        invariant(
            copy.path == request.path && HTTPRequest.Field.allCases.map { copy.field($0) ?? "-" } == fields, "a copy is equal")
    }
    return ["\(head.method) \(head.bodyFraming) \(head.keepsAlive)", request.path] + query.flatMap { [$0.name, $0.value] }
        + fields
}

// MARK: Chunked bodies

private func checkChunked(_ bytes: [UInt8], pieceBytes: Int) {
    let whole = decode(bytes, pieceBytes: max(1, bytes.count))
    invariant(whole == decode(bytes, pieceBytes: pieceBytes), "a chunked body in pieces is equal to the whole")
    // The bytes as the data of chunks.
    var framed: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
        let chunk = bytes[start..<min(start + pieceBytes, bytes.count)]
        framed += Array(String(chunk.count, radix: 16).utf8) + [13, 10] + chunk + [13, 10]
    }
    framed += Array("0\r\n\r\n".utf8)
    let expected = bytes.count <= bodyBytesMax ? Decoded.body(bytes, end: framed.count) : .invalid(status: 413)
    invariant(decode(framed, pieceBytes: 7) == expected, "chunks are joined")
}

/// What the decoder makes of a chunked body.
private enum Decoded: Equatable {
    case incomplete
    case invalid(status: Int)
    case body([UInt8], end: Int)
}

private func decode(_ bytes: [UInt8], pieceBytes: Int) -> Decoded {
    var decoder = ChunkedDecoder(bodyBytesMax: bodyBytesMax)
    var buffer: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
        let end = min(start + pieceBytes, bytes.count)
        buffer += bytes[start..<end]
        let result = buffer.withUnsafeMutableBytes { decoder.decode($0) }
        invariant(decoder.bodyCount <= min(buffer.count, bodyBytesMax), "a body is limited")
        switch result {
        case .incomplete: buffer.removeLast(buffer.count - decoder.bodyCount)
        case .complete(let consumed): return .body(Array(buffer[..<decoder.bodyCount]), end: end - (buffer.count - consumed))
        case .invalid(let error): return .invalid(status: error.status)
        }
    }
    return .incomplete
}
