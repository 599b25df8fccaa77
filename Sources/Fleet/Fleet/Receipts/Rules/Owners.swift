/// The slots of the connections of a channel's owners. A person usually has one connection, which costs no set.
enum Owners {
    case one(Int)
    case several(Set<Int>)

    mutating func insert(_ slot: Int) {
        switch self {
        case .one(let first): self = .several([first, slot])
        case .several(var slots):
            self = .several([])  // so that the set is not copied
            slots.insert(slot)
            self = .several(slots)
        }
    }

    /// - Returns: whether slots are left.
    mutating func remove(_ slot: Int) -> Bool {
        switch self {
        case .one(let first): return first != slot
        case .several(var slots):
            self = .several([])
            slots.remove(slot)
            self = .several(slots)
            return !slots.isEmpty
        }
    }

    func each(_ body: (Int) -> Void) {
        switch self {
        case .one(let slot): body(slot)
        case .several(let slots): for slot in slots { body(slot) }
        }
    }
}
