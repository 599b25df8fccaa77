import PusherProtocol

/// How messages go to the bus.
extension ClusterLink {
    /// Messages to one node are bundled up to about so many bytes. Small enough that their receiver lets others have the hub
    /// between two of them.
    static let bundleBytes = 1 << 16
    /// Longer messages to one node are sent in parts. By default NATS takes messages of up to a mebibyte.
    static let partBytes = 1 << 19

    mutating func publish(_ body: ClusterMessage.Body, on subject: String, _ outputs: inout [Output]) {
        guard isUp else { return }
        outputs.append(.publish(subject: subject, numbered(body, on: subject).bytes))
    }

    /// Sends a message to one node, with the next ``flush(_:)``.
    mutating func publish(_ body: ClusterMessage.Body, to node: Epoch) {
        if isUp { unsent[node, default: []].append(body) }
    }

    /// Puts out the messages to single nodes. Call it after each input, or after several: a change of the set of nodes may
    /// concern every channel, and is not to be a message per channel.
    package mutating func flush(_ outputs: inout [Output]) {
        guard !unsent.isEmpty else { return }
        defer { unsent = [:] }
        guard isUp else { return }
        for (node, bodies) in unsent.sorted(by: { $0.key.value < $1.key.value }) {
            let subject = subjects.node(node)
            for bundle in ClusterMessage.Body.bundles(of: bodies, bytes: Self.bundleBytes) {
                let message = numbered(bundle, on: subject)
                let bytes = message.bytes
                guard bytes.count > Self.partBytes else {
                    outputs.append(.publish(subject: subject, bytes))
                    continue
                }
                for part in message.parts(size: Self.partBytes) { publish(part, on: subject, &outputs) }
            }
        }
    }

    private mutating func numbered(_ body: ClusterMessage.Body, on subject: String) -> ClusterMessage {
        var message = ClusterMessage(sender: node.epoch, body)
        (message.number, message.numberBefore) = sent.next(on: subject, at: now)
        return message
    }
}

extension ClusterMessage.Body {
    /// Puts messages together, in their order.
    /// - Parameter bytes: the size of a bundle, about; a larger message is a bundle of its own.
    static func bundles(of bodies: [Self], bytes: Int) -> [Self] {
        var bundles: [Self] = []
        var (next, size): ([Self], Int) = ([], 0)
        func end() {
            if let only = next.first { bundles.append(next.count == 1 ? only : .several(next)) }
            (next, size) = ([], 0)
        }
        for body in bodies {
            if size + body.sizeHint > bytes { end() }
            next.append(body)
            size += body.sizeHint
        }
        end()
        return bundles
    }
}

extension ClusterMessage {
    /// The parts in which the message is sent.
    func parts(size: Int) -> [Body] {
        let bytes = bytes
        return stride(from: 0, to: bytes.count, by: size).map { start in
            let end = min(start + size, bytes.count)
            return .part(of: number, index: start / size, isLast: end == bytes.count, bytes[start..<end])
        }
    }
}

/// Puts the parts of long messages together, by sender.
struct ReceivedParts {
    /// A longer message is discarded.
    static let bytesMax = 1 << 26
    /// A message is discarded if its next part has not come after so many milliseconds.
    private static let patience: Int64 = 10_000

    private struct Incomplete {
        let number: UInt64
        var count = 0
        var bytes: [UInt8] = []
        var at: Int64
    }

    private var incomplete: [Epoch: Incomplete] = [:]

    /// - Parameters:
    ///   - number: the message's, of which this is a part.
    ///   - now: milliseconds.
    /// - Returns: the whole message, with its last part; nil if a part is missing, or the message is too long.
    mutating func receive(
        _ part: ArraySlice<UInt8>, of number: UInt64, index: Int, isLast: Bool, from sender: Epoch, at now: Int64
    ) -> [UInt8]? {
        var message = incomplete.removeValue(forKey: sender)
        if index == 0 { message = Incomplete(number: number, at: now) }
        guard var message, message.number == number, message.count == index,
            message.bytes.count + part.count <= Self.bytesMax
        else { return nil }
        message.bytes += part
        (message.count, message.at) = (index + 1, now)
        if isLast { return message.bytes }
        incomplete[sender] = message
        return nil
    }

    mutating func tick(at now: Int64) {
        if !incomplete.isEmpty { incomplete = incomplete.filter { now - $0.value.at < Self.patience } }
    }

    mutating func forget(_ sender: Epoch) { incomplete[sender] = nil }

    mutating func forgetAll() { incomplete = [:] }
}
