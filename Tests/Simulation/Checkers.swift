import FanOut
import PusherProtocol

/// Compares what connections received, and what the hub reports, with the model.
///
/// One rule covers most promises: at any time, the frames that a connection has received are a prefix of those that the
/// model expects for it, and after settling they are all of them. So no frame is lost, duplicated, reordered within or
/// across channels, delivered to the excluded sender or to a later subscriber, or delivered to a slot's next
/// connection.
struct Checkers {
    /// What a connection has received so far.
    private struct Receipt {
        /// The number of frames received.
        var count = 0
        /// The number of the last batch of writes that included the connection; 0 if there was none.
        var lastBatch = 0
        var isClosed = false
        var client = ClientModel()
    }

    private var receipts: [SocketID: Receipt] = [:]
    /// The number of the current batch of writes, from 1.
    private var batch = 0
    var assignments = AssignmentChecker()
    var webhookOrder = WebhookOrderChecker()

    mutating func opened(_ socket: SocketID) { receipts[socket] = Receipt() }

    /// Records a close. A later write to the connection is a violation.
    mutating func closed(_ socket: SocketID) { receipts[socket]?.isClosed = true }

    // MARK: Writes

    /// Checks one batch of a loop's writes. Returns the number of frames in them.
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
                try receipt.client.read(frame)
            } catch {
                throw Discrepancy("connection \(socket) \(error.problem)")
            }
            let before = receipt.count
            receipt.count += try Self.match(frame, with: model.expected[socket] ?? [], from: before, socket)
            guard receipt.lastBatch < batch else {
                throw Discrepancy("connection \(socket) was written to twice in one flush: \(Self.text(of: frame))")
            }
            receipt.lastBatch = batch
            receipts[socket] = receipt
            frames += receipt.count - before
        }
        return frames
    }

    /// Checks that `write` consists of the frames of `expected` from index `start` on.
    /// - Returns: the number of frames in `write`.
    private static func match(
        _ write: Frame, with expected: [Frame], from start: Int, _ socket: SocketID
    ) throws(Discrepancy) -> Int {
        var index = start
        var offset = 0
        repeat {
            let next = index < expected.count ? expected[index] : nil
            guard let next, contains(write, next, at: offset) else {
                let wanted = next.map { text(of: $0) } ?? "nothing more"
                throw Discrepancy(
                    "connection \(socket) received \(text(of: write, from: offset)) as its message \(index + 1), "
                        + "expected \(wanted)")
            }
            index += 1
            offset += next.bytes.count
        } while offset < write.bytes.count
        return index - start
    }

    private static func contains(_ write: Frame, _ frame: Frame, at offset: Int) -> Bool {
        // Usually both frames share one array: equality then compares only its address.
        if offset == 0, write == frame { return true }
        return write.bytes[offset...].starts(with: frame.bytes)
    }

    /// The first message of `frame` from `offset`, without its header.
    private static func text(of frame: Frame, from offset: Int = 0) -> String { WireMessage(frame, at: offset).description }

    // MARK: After settling

    /// After settling, `socket` must have received all its frames.
    func checkComplete(_ socket: SocketID, against model: ReferenceModel) throws(Discrepancy) {
        let expected = model.expected[socket] ?? []
        let count = receipts[socket]?.count ?? 0
        guard count < expected.count else { return }
        throw Discrepancy(
            "connection \(socket) received \(count) messages, expected \(expected.count): "
                + "\(Self.text(of: expected[count])) is missing")
    }

    /// After settling, all connections of terminated users must be closed.
    func checkTerminated(against model: ReferenceModel) throws(Discrepancy) {
        let left = model.terminated.filter { model.connections[$0] != nil }
        guard let socket = left.min(by: { $0.description < $1.description }) else { return }
        throw Discrepancy("connection \(socket) should have been closed")
    }

    // MARK: Instructions

    /// Checks that an effect for a single connection names an open one and goes to that connection's loop.
    func check(_ effect: Hub.Effect, against model: ReferenceModel) throws(Discrepancy) {
        switch effect.instruction {
        case .send(_, let socket), .sendPresence(_, let socket), .sendSigninSuccess(_, let socket),
            .sendWatchlist(_, _, let socket), .openKeptNames(let socket):
            guard effect.loop == socket.loop, model.connections[socket] != nil else {
                throw Discrepancy("loop \(effect.loop) has a message for \(socket), which is not open there")
            }
        case .join, .leave, .fanOut, .fanOutHiding, .notify, .relay, .close: break
        }
    }

    // MARK: Closing

    /// Checks the instruction to close `socket`: its user must have been terminated. The connection may already be
    /// closed.
    func check(closeOf socket: SocketID, _ code: CloseCode, on loop: Int, against model: ReferenceModel) throws(Discrepancy) {
        guard model.terminated.contains(socket), socket.loop == loop, code == .notAuthorized else {
            throw Discrepancy("loop \(loop) was instructed to close \(socket) with \(code.rawValue) for no reason")
        }
    }
}
