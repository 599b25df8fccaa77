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
        bodies.chunked(bytes: bytes, sizeHint: \.sizeHint).map { $0.count == 1 ? $0[0] : .several($0) }
    }
}

extension Array {
    /// Divides the array into pieces of up to so many bytes, about. A larger element is a piece of its own.
    func chunked(bytes: Int, sizeHint: (Element) -> Int) -> [[Element]] {
        var chunks: [[Element]] = []
        var size = 0
        for element in self {
            let more = sizeHint(element)
            if chunks.isEmpty || size + more > bytes {
                chunks.append([])
                size = 0
            }
            chunks[chunks.count - 1].append(element)
            size += more
        }
        return chunks
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
