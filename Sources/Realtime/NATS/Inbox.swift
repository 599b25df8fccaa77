import CNats
import Threads

/// What waits to be reported by the connection's thread: messages from cnats's delivery thread, and grants.
final class Inbox: Sendable {
    enum Item: Sendable {
        /// A natsMsg, as a number because pointers are not Sendable. The thread that takes it frees it.
        case message(token: UInt64, session: Int, address: UInt)
        case granted([UInt64])
    }

    struct Contents {
        var items: [Item] = []
        /// Whether cnats has dropped messages since the thread looked last.
        var isSlow = false
        /// What the server does not permit.
        var refusal: String?
    }

    private let contents = Lock(Contents())
    private let wakeUp: WakeUp

    init(wakeUp: WakeUp) { self.wakeUp = wakeUp }

    deinit { Self.free(contents.withLock { $0.items }) }

    /// Appends an item and wakes the thread, if it is the first.
    func append(_ item: Item) {
        let isFirst = contents.withLock { contents in
            contents.items.append(item)
            return contents.items.count == 1
        }
        if isFirst { wakeUp.signal() }
    }

    /// Records a problem that cnats has reported, and wakes the thread.
    func noteSlow() {
        contents.withLock { $0.isSlow = true }
        wakeUp.signal()
    }

    /// Records that the server refuses a subject, and wakes the thread.
    func noteRefusal(_ text: String) {
        contents.withLock { $0.refusal = text }
        wakeUp.signal()
    }

    /// Wakes the thread.
    func wake() { wakeUp.signal() }

    /// Removes and returns everything.
    func takeAll() -> Contents {
        contents.withLock { contents in
            defer { contents = Contents() }
            return contents
        }
    }

    /// The payload of a message, in cnats's memory.
    static func payload(_ address: UInt) -> UnsafeRawBufferPointer {
        guard let message = OpaquePointer(bitPattern: address) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: Int(natsMsg_GetDataLength(message)))
    }

    static func free(_ items: [Item]) {
        for case .message(_, _, let address) in items { natsMsg_Destroy(OpaquePointer(bitPattern: address)) }
    }
}

/// Messages that were reported and are to be freed, many at once: a thread of cnats does that work, and a message that is
/// freed alone wakes it. With five messages per millisecond that was half the cost of receiving.
final class SpentMessages {
    private static let countMax = 256
    private static let bytesMax = 1 << 18
    private var items: [Inbox.Item] = []
    private var bytes = 0

    deinit { Inbox.free(items) }

    func add(_ more: [Inbox.Item]) {
        for case .message(_, _, let address) in more { bytes += Inbox.payload(address).count }
        items += more
        guard items.count >= Self.countMax || bytes >= Self.bytesMax else { return }
        Inbox.free(items)
        items.removeAll(keepingCapacity: true)
        bytes = 0
    }
}
