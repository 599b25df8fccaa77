import FanOut
import Fleet
import Primitives
import PusherProtocol

/// What a loop knows of guaranteed delivery: subscriptions that wait for their cursors, replays under way, and what was
/// written and confirmed.
package struct LoopReplay {
    /// The most receipts that wait for the store's queue.
    static let receiptsMax = 10_000

    /// A subscription of an owner that waits for its cursor. The client gets `subscription_succeeded` behind it.
    package struct Opening {
        package let socket: SocketID
        package let grant: SubscriptionGrant
        let key: ReceiptKey
        /// Whether the store has the request. If not, it is sent at the next tick.
        var isPosted: Bool
    }

    /// A replay for which a page is to be read.
    package struct Replay {
        package let socket: SocketID
        /// The slot of the channel in the hub.
        let channel: ChannelSlot
        /// The name by which the client has subscribed.
        package let name: ChannelName
        let key: ReceiptKey
        /// The next page begins behind this sequence number.
        package internal(set) var after: Int64
        var isFirst = true
        /// Whether the store has the request. If not, the socket is full, or the store could not be read.
        var isPosted = false
    }

    package var table = OwnerReceipts()
    /// Notifications per page of a replay.
    let pageMax: Int
    /// By request number.
    package private(set) var openings: [Int: Opening] = [:]
    /// The request numbers of ``openings``, by the connection's slot: in a storm of reconnects there are thousands.
    private var openingsOfSlots: [Int: [Int]] = [:]
    /// By request number.
    package internal(set) var replays: [Int: Replay] = [:]
    /// What the store does not know yet.
    package var receipts: [Receipt] = []
    /// The subscription that the hub is opening, and the cursor of its device.
    var current: (opening: Opening, cursor: Int64)?
    private var lastRequest = 0

    package init(pageMax: Int = 100) { self.pageMax = pageMax }

    /// The requests that are repeated at once: after an outage of the store there are thousands.
    static let repeatedMax = 64
    /// The requests to repeat, oldest first, of ``openings`` before those of ``replays``.
    private var requestsToRepeat = FIFO<Int>()

    package var hasRequestsToRepeat: Bool { !requestsToRepeat.isEmpty }

    /// Finds the requests that the store does not have, unless those of an earlier call are left.
    mutating func findRequestsToRepeat() {
        guard requestsToRepeat.isEmpty else { return }
        for request in openings.filter({ !$0.value.isPosted }).keys.sorted() { requestsToRepeat.append(request) }
        for request in replays.filter({ !$0.value.isPosted }).keys.sorted() { requestsToRepeat.append(request) }
    }

    mutating func nextRequestToRepeat() -> Int? { requestsToRepeat.popFirst() }

    /// A number that no other request of the loop has.
    mutating func nextRequest() -> Int {
        lastRequest += 1
        return lastRequest
    }

    /// Adds a subscription that waits for its cursor.
    /// - Returns: its request number.
    mutating func add(_ opening: Opening) -> Int {
        let request = nextRequest()
        openings[request] = opening
        openingsOfSlots[opening.socket.slot, default: []].append(request)
        return request
    }

    mutating func setPosted(_ isPosted: Bool, opening request: Int) { openings[request]?.isPosted = isPosted }

    /// Removes a subscription that waits.
    mutating func takeOpening(_ request: Int) -> Opening? {
        guard let opening = openings.removeValue(forKey: request) else { return nil }
        openingsOfSlots[opening.socket.slot]?.removeAll { $0 == request }
        if openingsOfSlots[opening.socket.slot]?.isEmpty == true { openingsOfSlots[opening.socket.slot] = nil }
        return opening
    }

    /// Whether a subscription of the connection to the channel waits for its cursor.
    func isOpening(_ socket: SocketID, _ channel: ChannelName) -> Bool { opening(socket, channel) != nil }

    /// Releases the memory that a storm of reconnects has left behind. Call it once a second.
    mutating func shrink() {
        if openings.isEmpty { (openings, openingsOfSlots) = ([:], [:]) }
        if replays.isEmpty { replays = [:] }
        if receipts.isEmpty { receipts = [] }
    }

    /// Ends the wait of a subscription, because the client unsubscribes.
    /// - Returns: false if none waits.
    package mutating func cancelOpening(_ socket: SocketID, _ channel: ChannelName) -> Bool {
        guard let request = opening(socket, channel) else { return false }
        return takeOpening(request) != nil
    }

    private func opening(_ socket: SocketID, _ channel: ChannelName) -> Int? {
        openingsOfSlots[socket.slot]?.first { request in
            openings[request].map { $0.socket == socket && $0.grant.channel == channel } ?? false
        }
    }
}
