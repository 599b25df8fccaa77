import FanOut
import PusherProtocol

/// What has reached the connections and what the hub says of itself, held against the model.
///
/// One rule covers most: at any time a connection has received a prefix of what the model lists for it, and all of it
/// once everything has settled. So nothing is lost, doubled, reordered within or across channels, shown to the excluded
/// sender or to a newcomer, or carried from one tenant of a slot to the next.
struct Checkers {
    /// How far a connection has got.
    private struct Receipt {
        /// Frames received so far.
        var count = 0
        /// The last batch of writes in which it was written to.
        var batch = 0
        var isClosed = false
    }

    private var receipts: [SocketID: Receipt] = [:]
    private var batch = 0

    mutating func opened(_ socket: SocketID) { receipts[socket] = Receipt() }

    /// From here on a write to the connection is wrong.
    mutating func closed(_ socket: SocketID) { receipts[socket]?.isClosed = true }

    // MARK: Writes

    /// Checks what a loop wrote in one go. Returns how many frames that were.
    mutating func check(
        _ writes: [(socket: SocketID, frame: Frame)], on loop: Int, against model: ReferenceModel
    ) throws(Discrepancy) -> Int {
        batch += 1
        var frames = 0
        for (socket, frame) in writes {
            guard var receipt = receipts[socket], socket.loop == loop else {
                throw Discrepancy("loop \(loop) wrote to \(socket), which is none of its connections")
            }
            guard !receipt.isClosed else {
                throw Discrepancy("connection \(socket) was written to after its close: \(Self.text(of: frame))")
            }
            let before = receipt.count
            receipt.count += try Self.match(frame, with: model.expected[socket] ?? [], from: before, socket)
            guard receipt.batch < batch else {
                throw Discrepancy("connection \(socket) was written to twice in one flush: \(Self.text(of: frame))")
            }
            receipt.batch = batch
            receipts[socket] = receipt
            frames += receipt.count - before
        }
        return frames
    }

    /// How many frames `write` holds, which must be the next ones of `expected`.
    private static func match(
        _ write: Frame, with expected: [Frame], from start: Int, _ socket: SocketID
    ) throws(Discrepancy) -> Int {
        var index = start
        var offset = 0
        repeat {
            let next = index < expected.count ? expected[index] : nil
            guard let next, holds(write, next, at: offset) else {
                let wanted = next.map { text(of: $0) } ?? "nothing more"
                throw Discrepancy(
                    "connection \(socket) received \(text(of: write, from: offset)) as its message \(index + 1), expected \(wanted)"
                )
            }
            index += 1
            offset += next.bytes.count
        } while offset < write.bytes.count
        return index - start
    }

    private static func holds(_ write: Frame, _ frame: Frame, at offset: Int) -> Bool {
        // Mostly the very same array: equality sees that at once.
        if offset == 0, write == frame { return true }
        return write.bytes[offset...].starts(with: frame.bytes)
    }

    /// The first message of `frame` from `offset` on, without its header.
    private static func text(of frame: Frame, from offset: Int = 0) -> String {
        let bytes = frame.bytes[offset...]
        guard bytes.count > 1 else { return "\(bytes.count) bytes" }
        let short = Int(bytes[offset + 1])
        let header = short < 126 ? 2 : short == 126 ? 4 : 10
        let length = short < 126 ? short : bytes.dropFirst(2).prefix(header - 2).reduce(0) { $0 << 8 | Int($1) }
        return String(decoding: bytes.dropFirst(header).prefix(length), as: UTF8.self)
    }

    // MARK: The hub

    /// The hub's counts are the model's.
    func check(_ hub: Hub, against model: ReferenceModel) throws(Discrepancy) {
        guard hub.subscriptionCount == model.subscriptionCount else {
            throw Discrepancy("the hub counts \(hub.subscriptionCount) subscriptions, expected \(model.subscriptionCount)")
        }
        guard hub.channelCount == model.channelCount else {
            throw Discrepancy("the hub counts \(hub.channelCount) channels, expected \(model.channelCount)")
        }
    }

    /// The hub names exactly the loops on which a channel has subscribers, lowest first.
    func check(
        _ hub: Hub, loopsOf channel: ChannelName, app: AppIndex, against model: ReferenceModel
    ) throws(Discrepancy) {
        let named = Array(hub.loops(of: channel, app: app))
        let expected = model.loops(of: channel, app: app).sorted()
        guard named == expected else {
            throw Discrepancy("channel \(channel.text) of app \(app) has loops \(named), expected \(expected)")
        }
    }

    // MARK: Rest

    /// Nothing is under way: `socket` has received all it must.
    func checkComplete(_ socket: SocketID, against model: ReferenceModel) throws(Discrepancy) {
        let expected = model.expected[socket] ?? []
        let count = receipts[socket]?.count ?? 0
        guard count < expected.count else { return }
        throw Discrepancy(
            "connection \(socket) received \(count) messages, expected \(expected.count): "
                + "\(Self.text(of: expected[count])) is missing")
    }
}
