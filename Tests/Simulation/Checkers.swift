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
        var witness = ClientModel()
    }

    private var receipts: [SocketID: Receipt] = [:]
    private var batch = 0
    var assignments = AssignmentChecker()
    var webhookOrder = WebhookOrderChecker()

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
            do {
                try receipt.witness.read(frame)
            } catch {
                throw Discrepancy("connection \(socket) \(error.problem)")
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
    private static func text(of frame: Frame, from offset: Int = 0) -> String { WireMessage(frame, at: offset).description }

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

    /// Nothing is under way: everybody whose user's connections were terminated has gone.
    func checkTerminated(against model: ReferenceModel) throws(Discrepancy) {
        let left = model.terminated.filter { model.connections[$0] != nil }
        guard let socket = left.min(by: { $0.description < $1.description }) else { return }
        throw Discrepancy("connection \(socket) should have been closed")
    }

    // MARK: Mail

    /// A message for one connection is for one that is open, and goes to its loop: whoever has gone is forgotten.
    func check(_ effect: Hub.Effect, against model: ReferenceModel) throws(Discrepancy) {
        switch effect.instruction {
        case .send(_, let socket), .sendPresence(_, _, let socket):
            guard effect.loop == socket.loop, model.connections[socket] != nil else {
                throw Discrepancy("loop \(effect.loop) has mail for \(socket), which is not open there")
            }
        case .join, .leave, .fanOut, .close: break
        }
    }

    // MARK: Closing

    /// A loop is to close `socket`: it was signed in as a user whose connections are terminated. It may have gone since.
    func check(closeOf socket: SocketID, _ code: CloseCode, on loop: Int, against model: ReferenceModel) throws(Discrepancy) {
        guard model.terminated.contains(socket), socket.loop == loop, code == .notAuthorized else {
            throw Discrepancy("loop \(loop) was told to close \(socket) with \(code.rawValue) for no reason")
        }
    }
}
