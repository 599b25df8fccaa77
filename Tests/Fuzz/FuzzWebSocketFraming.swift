import TestSupport
import WebSocketFraming

/// Reads any bytes as a client's frames. Invariants: nothing crashes, events keep their promises, the events do not
/// depend on how the bytes are split, and a decoder that calls itself idle keeps nothing.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWebSocketFraming(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    var decoder = FrameDecoder(messageBytesMax: bytesMax)
    let events = decode(bytes[...], by: &decoder)
    for (index, event) in events.enumerated() { check(event, isLast: index == events.count - 1) }
    checkSplits(bytes, events, isIdle: decoder.isIdle)
    return 0
}

/// Small enough for inputs of the fuzzer to exceed it.
private let bytesMax = 300

/// A copy of an event.
private struct Copy: Equatable {
    let kind: String
    var code: UInt16?
    var bytes: [UInt8] = []
}

/// Decodes `bytes`, from memory of exactly their size, so that AddressSanitizer detects access beyond them.
private func decode(_ bytes: ArraySlice<UInt8>, by decoder: inout FrameDecoder) -> [Copy] {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: bytes)
    var (offset, events): (Int, [Copy]) = (0, [])
    while let event = decoder.next(in: memory, at: &offset) {
        switch event {
        case .text(let text): events.append(Copy(kind: "text", bytes: Array(text)))
        case .binary: events.append(Copy(kind: "binary"))
        case .ping(let payload): events.append(Copy(kind: "ping", bytes: Array(payload)))
        case .pong(let payload): events.append(Copy(kind: "pong", bytes: Array(payload)))
        case .close(let code, let reason): events.append(Copy(kind: "close", code: code, bytes: Array(reason)))
        case .failed(let code, let reason): events.append(Copy(kind: "failed", code: code, bytes: Array(reason.utf8)))
        }
        invariant(offset <= bytes.count, "the offset is within the bytes")
    }
    invariant(offset == bytes.count, "all bytes are consumed")
    return events
}

private func check(_ event: Copy, isLast: Bool) {
    let isUTF8 = String(validating: event.bytes, as: UTF8.self) != nil
    switch event.kind {
    case "text": invariant(isUTF8 && event.bytes.count <= bytesMax, "a text is UTF-8 within the limit")
    case "ping", "pong": invariant(event.bytes.count <= 125, "a control frame has at most 125 bytes")
    case "close":
        invariant(isLast, "nothing follows a close frame")
        invariant(isUTF8 && event.bytes.count <= 123, "a close reason is UTF-8")
        invariant(event.code.map { $0 >= 1000 && $0 < 5000 } ?? event.bytes.isEmpty, "a reason has a code")
        let frame = FrameEncoder.close(code: event.code, reason: String(decoding: event.bytes, as: UTF8.self))
        invariant(frame.count == 2 + (event.code == nil ? 0 : 2) + event.bytes.count, "the server can send the same close frame")
    case "failed":
        invariant(isLast, "nothing follows a failure")
        invariant([1002, 1007, 1009].contains(event.code) && !event.bytes.isEmpty, "a failure has a code and a reason")
    default: break
    }
}

/// Decodes the bytes one by one, and in random pieces; a decoder that says that it is idle is replaced by a new one.
private func checkSplits(_ bytes: [UInt8], _ events: [Copy], isIdle: Bool) {
    var dice = SplitMix(seed: bytes.reduce(1) { $0 &* 31 &+ UInt64($1) })
    for lengthMax in [1, 2 + dice.below(200)] {
        var decoder = FrameDecoder(messageBytesMax: bytesMax)
        var (rest, split): (ArraySlice<UInt8>, [Copy]) = (bytes[...], [])
        while !rest.isEmpty {
            let piece = rest.prefix(dice.within(1...lengthMax))
            split += decode(piece, by: &decoder)
            rest = rest.dropFirst(piece.count)
            if decoder.isIdle { decoder = FrameDecoder(messageBytesMax: bytesMax) }
        }
        invariant(split == events && decoder.isIdle == isIdle, "a split changes nothing")
    }
}
