/// The outboxes of a loop's connections, by slot, and the order in which the loop drops connections when all of them
/// together hold too much.
///
/// Groups of similar size stand for that order: the sizes in a group differ by less than a factor of two. An outbox changes
/// its group only when its size has doubled or halved, and the fullest group is found without looking at the outboxes. So
/// the order costs the same for a few large outboxes as for thousands of small ones.
struct Outboxes {
    private struct Entry {
        var outbox = Outbox()
        /// The index in ``groups``, and the index in that group.
        var group = 0
        var place = 0
    }

    private var entries: [Int: Entry] = [:]
    /// The slots of the outboxes that hold at least 2^n bytes and less than 2^(n + 1), at index n.
    private var groups = [[Int32]](repeating: [], count: Int.bitWidth)

    /// The number of bytes that all outboxes hold (``Outbox/heldBytes``).
    private(set) var heldBytes = 0

    var isEmpty: Bool { entries.isEmpty }

    /// Whether a connection has an outbox. An outbox that becomes empty is removed.
    func contains(_ slot: Int) -> Bool { entries[slot] != nil }

    /// The bytes that wait for a connection's socket.
    func bytes(_ slot: Int) -> Int { entries[slot]?.outbox.bytes ?? 0 }

    /// The slot of an outbox than which no other holds twice as much; nil if there is none.
    var fullest: Int? { groups.last { !$0.isEmpty }?.last.map(Int.init) }

    /// Appends what follows the first `offset` bytes of `chunk`.
    mutating func enqueue(_ chunk: [UInt8], from offset: Int, _ slot: Int) {
        change(slot) { $0.enqueue(chunk, from: offset) }
    }

    /// Removes and returns the outbox of a connection, for example while it is written.
    mutating func remove(_ slot: Int) -> Outbox? {
        guard let entry = entries.removeValue(forKey: slot) else { return nil }
        heldBytes -= entry.outbox.heldBytes
        leaveGroup(entry)
        return entry.outbox
    }

    /// See ``Outbox/cutBehindPresentFrame()``.
    mutating func cutBehindPresentFrame(_ slot: Int) {
        guard var outbox = remove(slot) else { return }
        outbox.cutBehindPresentFrame()
        if !outbox.isEmpty { restore(outbox, slot) }
    }

    /// Puts back an outbox that was removed.
    mutating func restore(_ outbox: Outbox, _ slot: Int) { change(slot) { $0 = outbox } }

    private mutating func change(_ slot: Int, _ change: (inout Outbox) -> Void) {
        let isNew = entries[slot] == nil
        // In place: a copy of the outbox would copy its list of chunks.
        let (before, after) = Self.change(&entries[slot, default: Entry()].outbox, change)
        heldBytes += after - before
        let group = Int.bitWidth - 1 - max(after, 1).leadingZeroBitCount
        guard isNew || entries[slot]?.group != group else { return }
        if !isNew, let entry = entries[slot] { leaveGroup(entry) }
        entries[slot]?.group = group
        entries[slot]?.place = groups[group].count
        groups[group].append(Int32(slot))
    }

    private static func change(_ outbox: inout Outbox, _ change: (inout Outbox) -> Void) -> (before: Int, after: Int) {
        let before = outbox.heldBytes
        change(&outbox)
        return (before, outbox.heldBytes)
    }

    /// Fills the gap that an entry leaves in its group with the group's last slot.
    private mutating func leaveGroup(_ entry: Entry) {
        let last = groups[entry.group].removeLast()
        guard entry.place < groups[entry.group].count else { return }
        groups[entry.group][entry.place] = last
        entries[Int(last)]?.place = entry.place
    }
}
