import PusherProtocol
import TestSupport
import Testing

@testable import Server

@Suite struct DeadlinesTests {
    /// Advances by a tick and returns the connections whose deadlines have passed.
    private func tick(_ deadlines: inout Deadlines, _ table: inout ConnectionTable) -> [Int] {
        deadlines.tick()
        var expired: [Int] = []
        while let (slot, _) = deadlines.nextExpired(&table) { expired.append(slot) }
        return expired
    }

    @Test(arguments: Deadlines.Kind.allCases)
    func expiresOnceAfterItsDuration(kind: Deadlines.Kind) {
        var (deadlines, table) = (Deadlines(), ConnectionTable())
        let slot = table.add(1).slot
        deadlines.set(kind, slot, &table)
        for _ in 1..<kind.duration { #expect(tick(&deadlines, &table) == []) }
        #expect(tick(&deadlines, &table) == [slot])
        #expect(table[slot].deadline.kind == nil)
        for _ in 0..<100 { #expect(tick(&deadlines, &table) == []) }
    }

    @Test func aNewDeadlineReplacesTheOldOne() {
        var (deadlines, table) = (Deadlines(), ConnectionTable())
        let slot = table.add(1).slot
        deadlines.set(.close, slot, &table)
        deadlines.set(.idle, slot, &table)
        for _ in 1..<Deadlines.Kind.idle.duration { #expect(tick(&deadlines, &table) == []) }
        #expect(tick(&deadlines, &table) == [slot])
    }

    /// Compares with a dictionary of due times, for random operations.
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func agreesWithASimpleModel(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var (deadlines, table) = (Deadlines(), ConnectionTable())
        let slots = (1...30).map { table.add($0).slot }
        var due: [Int: Int32] = [:]
        var now: Int32 = 0
        for _ in 0..<3_000 {
            let slot = slots.randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let kind = Deadlines.Kind.allCases.randomElement(using: &random) ?? .idle
                deadlines.set(kind, slot, &table)
                due[slot] = now + kind.duration
            case 5, 6:
                deadlines.cancel(slot, &table)
                due[slot] = nil
            default:
                now += 1
                #expect(Set(tick(&deadlines, &table)) == Set(due.filter { $0.value == now }.keys))
                due = due.filter { $0.value > now }
            }
        }
    }
}
