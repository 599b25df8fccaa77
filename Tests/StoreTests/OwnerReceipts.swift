@testable import Fleet

/// The length of an hour in milliseconds.
let hour: Int64 = 3_600_000

/// A device of a driver.
func phone(_ device: String = "phone", of driver: String = "42", on channel: String? = nil) -> ReceiptKey {
    ReceiptKey(channel: channel ?? "driver-\(driver)", owner: "driver:\(driver)", device: device)
}

func subscription(_ key: ReceiptKey, request: Int = 0) -> CursorRequest {
    CursorRequest(key: key, replyTo: ReplyAddress(loop: 1, request: request))
}

func written(_ key: ReceiptKey, after: Int64 = 0, upTo: Int64, at time: Int64 = noon) -> Receipt {
    Receipt(key: key, after: after, upTo: upTo, writtenAt: time, confirmedAt: nil)
}

func confirmed(_ key: ReceiptKey, after: Int64 = 0, upTo: Int64, at time: Int64 = noon) -> Receipt {
    Receipt(key: key, after: after, upTo: upTo, writtenAt: noon, confirmedAt: time)
}

extension CommandExecutor {
    /// Executes a subscription in a transaction.
    func subscribe(_ key: ReceiptKey, at now: Int64 = noon) throws -> CursorReply {
        try transaction { () throws(DatabaseError) in try subscribe(subscription(key), now: now) }
    }

    /// Records a receipt in a transaction.
    @discardableResult func commit(_ receipt: Receipt, at now: Int64 = noon) throws -> [Confirmation] {
        try transaction { () throws(DatabaseError) in try record(receipt, now: now) }
    }

    /// The stored cursors: `driver-42|driver:42|phone|7`.
    func cursorRows() throws -> [String] {
        try database.dump("SELECT channel, owner, device, sequence FROM cursors ORDER BY 1, 2, 3")
    }

    /// The arrivals counted since the last call: `hello written 2`.
    func arrivals() -> [String] { counter.drain().arrivals.map { "\($0.event) \($0.state) \($1)" }.sorted() }
}

extension TemporaryStore {
    /// A page of a replay, with a backlog of 48 hours.
    func page(
        _ key: ReceiptKey, after: Int64 = 0, limit: Int = 100, isFirst: Bool = true, backlogLimit: Int = 1_000,
        at now: Int64 = noon
    ) throws -> ReplayPage {
        let reader = ReplayReader(
            try Database.open(readingFrom: address), backlogHours: 48, limit: backlogLimit)
        let request = ReplayRequest(
            key: key, after: after, limit: limit, isFirst: isFirst, replyTo: ReplyAddress(loop: 1, request: 1))
        return try reader.page(for: request, at: reading(now, uptime: now - noon + day))
    }
}

extension ReplayPage {
    var sequences: [Int64] { notifications.map(\.sequence) }
}

extension NotificationTable {
    /// The list of the notifications that concern an order.
    func reports(of order: Order, before position: Position, limit: Int, now: Int64) throws(DatabaseError) -> [NotificationReport]
    {
        var search = NotificationSearch(NotificationFilter(), before: position, limit: limit, now: now)
        search.next = .order(NotificationSearch.OrderPlace(order, before: position.id))
        while try !self.search(&search) {}
        return search.found
    }
}
