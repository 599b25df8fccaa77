import Crypto
import Glibc
import JSON
import WebSocketFraming

/// One WebSocket connection. It connects, subscribes to one channel, answers pings, and reports the channel's events.
final class Subscriber {
    /// What a connection reports.
    enum Event {
        /// The gateway has greeted it: it needs authorization for its channel.
        case greeted(socketID: String)
        case subscribed
        /// An event of a channel; the slices are valid only during the call.
        case event(name: JSONSlice, data: JSONSlice)
        /// The connection has ended, or its subscription was refused.
        case ended(reason: String)
    }

    private enum State { case upgrading, greeting, subscribing, subscribed }

    /// Larger than what a gateway sends.
    private static let messageBytesMax = 16 * 1_024 * 1_024
    private static let headBytesMax = 16_384

    let tag: Int
    /// When the connection was begun.
    let startedAt: UInt64
    /// The events that it has received.
    var receipts = Receipts()
    private var link: Link?
    private var state = State.upgrading
    /// The response to the handshake so far.
    private var head: [UInt8] = []
    private let key: String
    private var decoder = FrameDecoder(messageBytesMax: messageBytesMax, of: .server)

    var hasSubscribed: Bool { state == .subscribed }
    /// Whether it is neither subscribed nor ended.
    var isUnderWay: Bool { state != .subscribed && link != nil }

    /// - Parameters:
    ///   - path: of the WebSocket, such as `/app/key1?protocol=7`.
    ///   - link: nil if there is none: the connection has failed.
    init(_ address: GatewayAddress, path: String, link: Link?, tag: Int, at now: UInt64) {
        self.tag = tag
        self.link = link
        startedAt = now
        key = Base64.text((0..<16).map { _ in UInt8.random(in: .min ... .max) })
        link?.send(
            Array(
                """
                GET \(path) HTTP/1.1\r
                Host: \(address.authority)\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Version: 13\r
                Sec-WebSocket-Key: \(key)\r
                \r

                """.utf8))
    }

    /// Subscribes to a channel.
    /// - Parameter auth: the subscription's signature.
    func subscribe(to channel: String, auth: String) {
        var json = JSONWriter()
        json.object {
            $0.member("event", "pusher:subscribe")
            $0.member("data") {
                $0.member("channel", channel)
                $0.member("auth", auth)
            }
        }
        send(ClientFrameEncoder.text(json.bytes, key: .random(in: .min ... .max)))
    }

    /// Sends a close frame and closes the connection.
    func close() {
        if state != .upgrading { send(ClientFrameEncoder.close(code: 1_000, key: .random(in: .min ... .max))) }
        link = nil
    }

    /// Ends the connection without a word.
    func drop() { link = nil }

    /// Does what the socket is ready for.
    /// - Parameter buffer: scratch memory.
    /// - Returns: the number of bytes received.
    func advance(
        _ ready: Poller.Event, _ buffer: UnsafeMutableRawBufferPointer, _ poller: Poller, _ report: (Event) -> Void
    ) -> Int {
        guard let link else { return 0 }
        if ready.isWritable, let problem = link.becomeWritable() {
            end(problem, report)
            return 0
        }
        var total = 0
        if ready.isReadable {
            reading: while self.link != nil {
                switch link.receive(into: buffer) {
                case .nothing: break reading
                case .ended(let reason): end(reason, report)
                case .bytes(let count):
                    total += count
                    take(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), report)
                    if link.isDrained(by: count, of: buffer) { break reading }
                }
            }
        }
        if self.link != nil { link.updateWatch(poller, tag: tag) }
        return total
    }

    private func send(_ bytes: [UInt8]) { link?.send(bytes) }

    private func end(_ reason: String, _ report: (Event) -> Void) {
        guard link != nil else { return }
        link = nil
        report(.ended(reason: reason))
    }

    private func take(_ bytes: UnsafeMutableRawBufferPointer, _ report: (Event) -> Void) {
        guard state == .upgrading else { return takeFrames(bytes, report) }
        head.append(contentsOf: bytes)
        guard let end = head.indices.first(where: { head[$0...].starts(with: [13, 10, 13, 10]) }) else {
            if head.count > Self.headBytesMax { self.end("the response to the handshake is too long", report) }
            return
        }
        if let problem = handshakeProblem(String(decoding: head[..<end], as: UTF8.self)) { return self.end(problem, report) }
        state = .greeting
        var rest = Array(head[(end + 4)...])
        head = []
        rest.withUnsafeMutableBytes { takeFrames($0, report) }
    }

    /// Why a response does not open the WebSocket (RFC 6455 section 4.1); nil if it does.
    private func handshakeProblem(_ response: String) -> String? {
        let lines = response.split(separator: "\r\n")
        guard let status = lines.first.flatMap({ ResponseReader.status(of: $0) }) else { return "the response is not HTTP" }
        guard status == 101 else { return "status \(status)" }
        let digest = Base64.text(SHA1.digest(of: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
        let isAccepted = lines.contains { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return parts.count == 2 && parts[0].lowercased() == "sec-websocket-accept"
                && parts[1].drop { $0 == " " } == digest
        }
        return isAccepted ? nil : "the response does not accept the handshake"
    }

    private func takeFrames(_ bytes: UnsafeMutableRawBufferPointer, _ report: (Event) -> Void) {
        var offset = 0
        while link != nil, let event = decoder.next(in: bytes, at: &offset) {
            switch event {
            case .text(let text): takeMessage(text, report)
            case .ping(let payload): send(ClientFrameEncoder.pong(payload: payload, key: .random(in: .min ... .max)))
            case .pong: break
            case .binary: end("a binary frame came", report)
            case .close(let code, _): end(code.map { "close code \($0)" } ?? "closed without a code", report)
            case .failed(_, let reason): end(reason, report)
            }
        }
    }

    private func takeMessage(_ text: UnsafeRawBufferPointer, _ report: (Event) -> Void) {
        var (name, data): (JSONSlice?, JSONSlice?)
        do {
            try JSONReader.object(text) { key, value in
                if key.equals("event") { name = value } else if key.equals("data") { data = value }
            }
        } catch { return end("a message is not JSON", report) }
        guard let name else { return end("a message has no event", report) }
        if name.stringContent?.starts(with: "pusher".utf8) == true {
            takeProtocolEvent(name, data, report)
        } else if let data {
            report(.event(name: name, data: data))
        }
    }

    private func takeProtocolEvent(_ name: JSONSlice, _ data: JSONSlice?, _ report: (Event) -> Void) {
        if name.equals("pusher:connection_established") {
            guard state == .greeting, let id = data?.string.flatMap({ Self.text("socket_id", in: Array($0.utf8)) }) else {
                return end("the greeting has no socket_id", report)
            }
            state = .subscribing
            report(.greeted(socketID: id))
        } else if name.equals("pusher_internal:subscription_succeeded"), state == .subscribing {
            state = .subscribed
            report(.subscribed)
        } else if name.equals("pusher:ping") {
            send(ClientFrameEncoder.text(Array(#"{"event":"pusher:pong","data":{}}"#.utf8), key: .random(in: .min ... .max)))
        } else if name.equals("pusher:error") || name.equals("pusher:subscription_error") {
            end("error \(data.flatMap { Self.text("code", in: Array($0.raw)) } ?? "without a code")", report)
        }
    }

    /// A member of an object: a string, or a number as written.
    static func text(_ name: StaticString, in object: [UInt8]) -> String? {
        object.withUnsafeBytes { bytes in
            var text: String?
            try? JSONReader.object(bytes) { key, value in
                guard key.equals(name) else { return }
                text = value.string ?? (value.kind == .number ? String(decoding: value.raw, as: UTF8.self) : nil)
            }
            return text
        }
    }
}
