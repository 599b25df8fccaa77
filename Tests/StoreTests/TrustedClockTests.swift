import TestSupport
import Testing

@testable import Fleet

private let second: Int64 = 1_000
private let minute: Int64 = 60_000

@Suite struct TrustedClockTests {
    /// A clock and the machine that it runs on.
    private struct Machine {
        var clock = TrustedClock(anchor: reading(noon, uptime: day))
        var now = reading(noon, uptime: day)

        /// The trusted time.
        var time: Int64 { now.wall - clock.lead }

        /// Lets time pass, then sets the wall clock forward or back and reads the clocks.
        mutating func pass(_ milliseconds: Int64, jump: Int64 = 0) -> TrustedClock.Change? {
            now.wall += milliseconds + jump
            now.uptime += milliseconds
            return clock.observe(now)
        }

        /// Lets time pass in steps, until a step changes something.
        mutating func pass(_ milliseconds: Int64, inStepsOf step: Int64) -> TrustedClock.Change? {
            for _ in 0..<milliseconds / step { if let change = pass(step) { return change } }
            return nil
        }

        mutating func restartProcess() { clock = TrustedClock(anchor: clock.anchor, suspect: clock.suspect) }

        /// - Parameter outage: the time until the machine runs again.
        mutating func restart(after outage: Int64, bootID: String) -> TrustedClock.Change? {
            restartProcess()
            now = reading(now.wall + outage + 30_000, uptime: 30_000, bootID: bootID)
            return clock.observe(now)
        }
    }

    private var machine = Machine()

    @Test mutating func followsAnEvenClock() {
        for step in [1, 10, 999, 1_000, 60_000, hour, 7 * day] {
            #expect(machine.pass(step, inStepsOf: step) == nil && machine.clock.lead == 0)
        }
    }

    /// What one jump of the wall clock changes, after a minute without a jump.
    @Test(
        arguments: [
            (0, nil), (-1, nil), (-300 * day, nil), (10 * minute, nil), (10 * minute + 6_001, .jumped(ahead: 10 * minute + 1)),
            (hour, .jumped(ahead: hour - 6_000)), (300 * day, .jumped(ahead: 300 * day - 6_000)),
        ] as [(Int64, TrustedClock.Change?)])
    mutating func tellsJumps(_ jump: Int64, _ change: TrustedClock.Change?) {
        #expect(machine.pass(minute, jump: jump) == change)
        #expect(machine.clock.isTrusted == (change == nil))
    }

    @Test mutating func catchesUpWithASmallStep() {
        #expect(machine.pass(0, jump: 5 * minute) == nil && machine.clock.lead == 5 * minute)
        // In steps of two milliseconds, as under load.
        #expect(machine.pass(minute, inStepsOf: 2) == nil)
        #expect(abs(machine.clock.lead - 294_000) < 200)
        #expect(machine.pass(50 * minute, inStepsOf: second) == nil && machine.clock.lead == 0)
    }

    @Test mutating func smallStepsAddUp() {
        #expect(machine.pass(0, jump: 6 * minute) == nil)
        #expect(machine.pass(second, jump: 6 * minute) == .jumped(ahead: 12 * minute - 100))
    }

    @Test mutating func timeContinuesWithUptimeAfterAJump() {
        _ = machine.pass(minute, jump: 300 * day)
        let time = machine.time
        #expect(machine.pass(hour, inStepsOf: second) == nil)
        #expect(machine.time == time + hour)
    }

    @Test mutating func trustsAClockThatIsSetRightAgain() {
        #expect(machine.pass(6 * second, jump: 300 * day) != nil)
        #expect(machine.pass(second, jump: -300 * day) == .trusted(.returned))
        #expect(machine.clock.lead == 0)
        #expect(machine.pass(6 * second, jump: 300 * day) != nil)
    }

    @Test mutating func trustsAClockThatRunsEvenlyForADay() {
        _ = machine.pass(0, jump: day)
        #expect(machine.pass(day - minute, inStepsOf: minute) == nil)
        #expect(machine.pass(minute - 1) == nil && !machine.clock.isTrusted)
        #expect(machine.pass(1) == .trusted(.agreed) && machine.clock.lead == 0)
    }

    @Test mutating func everyFurtherJumpBeginsTheDayAnew() {
        _ = machine.pass(0, jump: 3 * day)
        #expect(machine.pass(23 * hour, jump: -day) == .jumped(ahead: 2 * day))
        #expect(machine.pass(23 * hour, jump: 9 * minute) == nil)
        #expect(machine.pass(hour, jump: 2 * minute) == .jumped(ahead: 2 * day + 11 * minute))
        #expect(machine.pass(day - 1) == nil)
        #expect(machine.pass(1) == .trusted(.agreed))
    }

    @Test mutating func followsAClockThatIsSetBackAtOnce() {
        #expect(machine.pass(0, jump: -day) == nil && machine.clock.lead == 0)
        #expect(machine.pass(second) == nil && machine.clock.lead == 0)
        #expect(machine.pass(0, jump: day) == .jumped(ahead: day), "which of the two times was right is unknown")
    }

    // MARK: Confirmation

    @Test mutating func operatorConfirmsAJump() {
        _ = machine.pass(0, jump: day)
        let confirmed = machine.now
        #expect(machine.pass(2 * second) == nil)
        machine.clock.confirm(confirmed)
        #expect(machine.pass(second) == nil && machine.clock.isTrusted && machine.clock.lead == 0)
    }

    @Test mutating func confirmationFromBeforeTheJumpChangesNothing() {
        let confirmed = machine.now
        _ = machine.pass(10 * day)
        _ = machine.pass(0, jump: day / 2)
        machine.clock.confirm(confirmed)
        #expect(machine.pass(0) != nil && !machine.clock.isTrusted)
    }

    // MARK: Restarts

    @Test mutating func jumpDuringARestartOfTheProcess() {
        machine.restartProcess()
        #expect(machine.pass(7 * day) == nil, "the process was down for a week; the clock was right")
        machine.restartProcess()
        #expect(machine.pass(7 * day, jump: day / 2) == .jumped(ahead: day / 2 - 10 * minute))
        machine.restartProcess()
        #expect(machine.pass(day - 1) == nil && !machine.clock.isTrusted, "the day goes on while the process is down")
        machine.restartProcess()
        #expect(machine.pass(1) == .trusted(.agreed))
    }

    @Test mutating func outageOfTheMachine() {
        #expect(machine.restart(after: 5 * minute, bootID: "second") == nil)
        #expect(machine.pass(hour, inStepsOf: second) == nil && machine.clock.lead == 0)
        let outage = machine.restart(after: 20 * minute, bootID: "third")
        #expect(outage == .jumped(ahead: 20 * minute - 3_000), "an outage cannot be told apart from a jump")
        #expect(machine.pass(day) == .trusted(.agreed))
    }

    // MARK: Seeds

    @Test func trustedTimeNeverRunsAwayFromTheUptime() {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...200 {
            var dice = SplitMix(seed: seed)
            var machine = Machine()
            // The uptime since the last jump that a day of even running must not contain.
            var even = Int64.max / 2
            for step in 0..<400 {
                var elapsed = Int64(dice.below([2, 2_000, 4_000_000, 40_000_000][dice.below(4)]))
                let before = machine.time
                var change: TrustedClock.Change?
                switch dice.below(12) {
                case 0:
                    let jump = Int64(dice.within(-2_000...2_000)) * [100, 1_000, 40_000_000][dice.below(3)]
                    change = machine.pass(elapsed, jump: jump)
                    even = abs(jump) > 20 * minute ? 0 : even + elapsed
                case 1 where dice.chance(percent: 20):
                    elapsed = 30_000
                    change = machine.restart(after: Int64(dice.below(3_000_000)), bootID: "run \(step)")
                    even = 30_000
                case 2:
                    machine.restartProcess()
                    change = machine.pass(elapsed)
                    even += elapsed
                case 3 where dice.chance(percent: 10):
                    machine.clock.confirm(machine.now)
                    continue
                default:
                    change = machine.pass(elapsed)
                    even += elapsed
                }
                if let change { counts[Self.kind(of: change), default: 0] += 1 }
                let (clock, place) = (machine.clock, Comment("seed \(seed), step \(step)"))
                #expect(clock.lead >= 0 && clock.isTrusted == (clock.lead <= 10 * minute), place)
                if change == .trusted(.agreed) {
                    #expect(even >= day, place)
                } else {
                    // A step back by less than a second, and forward again within it, may be unnoticed.
                    #expect(machine.time <= before + elapsed + elapsed / 10 + 1_100, place)
                }
            }
        }
        #expect(counts.count == 3 && counts.values.allSatisfy { $0 > 100 }, "the seeds reach every change: \(counts)")
    }

    private static func kind(of change: TrustedClock.Change) -> String {
        switch change {
        case .jumped: "jumped"
        case .trusted(let reason): reason.rawValue
        }
    }
}
