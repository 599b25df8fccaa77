import FanOut
import PusherProtocol

/// Any bytes as a client's message: an answer is one small JSON object, an input is about the sender alone, and no
/// private channel opens without a verified signature.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzClientMessage(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = UnsafeRawBufferPointer(start: start, count: count)
    guard let socket = SocketID("7.1") else { fatalError("a socket id") }
    let limits = Limits()
    var verified: String?
    let reaction = Reaction(to: text, from: socket, key: "key1", limits: limits) { text, signature in
        guard signature == "ok" else { return false }
        verified = text
        return true
    }
    switch reaction {
    case .nothing: break
    case .answer(let frame): checkAnswer(frame)
    case .input(.subscribe(let sender, let grant)):
        promise(sender == socket, "one subscribes oneself")
        checkName(grant.channel, limits)
        switch grant.channel.access {
        case .open: break
        case .signed: promise(verified == "7.1:\(grant.channel.text)", "a private channel needs its own signature")
        case .presence: fatalError("presence is refused")
        }
    case .input(.unsubscribe(let sender, let channel)):
        promise(sender == socket, "one unsubscribes oneself")
        checkName(channel, limits)
    case .input: fatalError("clients only subscribe and unsubscribe")
    }
    return 0
}

private func checkName(_ name: ChannelName, _ limits: Limits) {
    promise((1...limits.nameLength).contains(name.text.utf8.count), "a channel's name is within its limit")
    promise(name.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }, "a name needs no escaping")
}

/// What is quoted back is cut, so an answer is bounded however long the message was.
private func checkAnswer(_ frame: Frame) {
    promise(frame.messageCount == 1 && frame.bytes.count < 2_048, "an answer is one small message")
    let headerLength = frame.bytes[1] < 126 ? 2 : 4
    var names: [String] = []
    frame.bytes.dropFirst(headerLength).withUnsafeBytes { bytes in
        try? JSONReader.object(bytes) { name, _ in names.append(name.string ?? "") }
    }
    promise(names == ["event", "data"], "an answer is an event with data")
}
