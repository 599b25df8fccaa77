import Testing

@testable import Server

/// Works through an agenda with a clock of its own: each piece of work takes as long as it says.
private struct AgendaRun {
    struct Work: Equatable {
        let name: String
        /// Nanoseconds.
        var cost: UInt64 = 10_000
    }

    var agenda = Agenda<Work>()
    var now: UInt64 = 1_000_000_000

    mutating func add(_ kind: Agenda<Work>.Kind, _ names: [String], cost: UInt64 = 10_000) {
        for name in names { agenda.add(Work(name: name, cost: cost), kind) }
    }

    /// Does what a turn has time for.
    /// - Parameters:
    ///   - ready: how long the turn was busy before, with what was ready.
    ///   - done: called with each piece of work, when its time has passed.
    /// - Returns: the names of what was done, in order.
    @discardableResult
    mutating func turn(afterReady ready: UInt64 = 0, _ done: (inout Agenda<Work>, Work) -> Void = { _, _ in }) -> [String] {
        agenda.beginTurn(at: now)
        now += ready
        var names: [String] = []
        while let (work, _) = agenda.next(at: now) {
            names.append(work.name)
            now += work.cost
            done(&agenda, work)
        }
        return names
    }
}

@Suite struct AgendaTests {
    private static let kinds = Agenda<AgendaRun.Work>.Kind.allCases
    private static let millisecond: UInt64 = 1_000_000

    private func names(_ count: Int, _ prefix: String = "") -> [String] { (0..<count).map { "\(prefix)\($0)" } }

    // MARK: A turn ends

    /// 10,000 pieces of each kind wait, some cheap, some as long as the turn: it ends with the piece that reaches its end.
    @Test(arguments: [1_000, 20_000, 300_000, 4_000_000, 50_000_000] as [UInt64])
    func turnEnds(cost: UInt64) {
        var run = AgendaRun()
        for kind in Self.kinds { run.add(kind, names(10_000), cost: cost) }
        for _ in 0..<5 {
            let start = run.now
            run.turn()
            #expect(run.now - start <= 5 * Self.millisecond + 3 * cost, "at most one piece of each kind too much")
            #expect(run.now - start >= min(cost * 3, 5 * Self.millisecond))
        }
    }

    @Test func workThatCausesWorkDoesNotProlongTheTurn() {
        var run = AgendaRun()
        for kind in Self.kinds { run.add(kind, ["again"], cost: 1_000) }
        let start = run.now
        run.turn { agenda, work in for kind in Self.kinds { agenda.add(work, kind) } }
        #expect(run.now - start <= 5 * Self.millisecond + 3_000)
        #expect(!run.agenda.isEmpty)
    }

    @Test func nothingIsLeftAfterTurnsEnough() {
        var run = AgendaRun()
        for kind in Self.kinds { run.add(kind, names(5_000), cost: 1_000) }
        var count = 0
        while !run.agenda.isEmpty { count += run.turn().count }
        #expect(count == 15_000)
    }

    // MARK: Everybody's turn comes

    @Test(arguments: kinds.indices) func nothingOvertakesWhatWaits(kind: Int) {
        var run = AgendaRun()
        run.add(Self.kinds[kind], names(2_000), cost: 10_000)
        var done = run.turn()
        // What comes later does not go first, however often.
        for turn in 0..<100 {
            run.add(Self.kinds[kind], ["late \(turn)"], cost: 10_000)
            done += run.turn()
        }
        while !run.agenda.isEmpty { done += run.turn() }
        #expect(done.filter { !$0.hasPrefix("late") } == names(2_000))
        #expect(done.filter { $0.hasPrefix("late") } == names(100, "late "))
        #expect(done.prefix(2_000).elementsEqual(names(2_000)))
    }

    /// However expensive the others are, and even if what was ready has taken the whole turn.
    @Test(arguments: [0, 4_000_000, 20_000_000] as [UInt64]) func eachKindMakesProgressInEachTurn(ready: UInt64) {
        var run = AgendaRun()
        for kind in Self.kinds { run.add(kind, names(10, "\(kind)"), cost: 30 * Self.millisecond) }
        for turn in 0..<10 {
            #expect(run.turn(afterReady: ready) == Self.kinds.map { "\($0)\(turn)" })
        }
    }

    /// A thousand connections that close, or have much to read, take at most a millisecond each of a bystander's time.
    @Test func stepsDoNotWaitForOtherKinds() {
        var run = AgendaRun()
        run.add(.change, names(1_000, "change"), cost: 30_000)
        run.add(.bulk, names(1_000, "bulk"), cost: 30_000)
        let start = run.now
        run.turn()
        #expect(run.now - start <= 2 * Self.millisecond + 60_000)
        run.add(.step, ["bystander"])
        #expect(run.turn().first == "bystander")
    }

    @Test func stepsLeaveTheOtherKindsTheirTime() {
        var run = AgendaRun()
        for kind in Self.kinds { run.add(kind, names(10_000, "\(kind)"), cost: 10_000) }
        let done = run.turn()
        #expect(done.filter { $0.hasPrefix("step") }.count == 300)
        #expect(done.filter { $0.hasPrefix("change") }.count == 100)
        #expect(done.filter { $0.hasPrefix("bulk") }.count == 100)
    }

    // MARK: At once

    @Test func whatIsReadyIsDoneAtOnceWhileNothingOfItsKindWaits() {
        var run = AgendaRun()
        run.agenda.beginTurn(at: run.now)
        #expect(Self.kinds.allSatisfy { run.agenda.permits($0, at: run.now) })
        run.add(.bulk, ["waits"])
        #expect(run.agenda.permits(.step, at: run.now) && !run.agenda.permits(.bulk, at: run.now))
        run.add(.step, ["waits"])
        #expect(!run.agenda.permits(.step, at: run.now), "it would overtake what waits")
        #expect(run.agenda.permits(.change, at: run.now))
    }

    @Test func whatIsReadyAtTheTurnsEndHasToWait() {
        var run = AgendaRun()
        run.agenda.beginTurn(at: run.now)
        let end = run.now + 5 * Self.millisecond
        #expect(run.agenda.permits(.step, at: end - 1) && !run.agenda.permits(.step, at: end))
        run.add(.change, ["waits"])
        #expect(run.agenda.permits(.step, at: end - Self.millisecond - 1))
        #expect(!run.agenda.permits(.step, at: end - Self.millisecond), "that time belongs to what waits")
    }
}
