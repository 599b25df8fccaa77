import Simulation
import Testing

/// The promises of the fan-out in many worlds, and that a world is the same each time.
@Suite struct SimulationTests {
    @Test func threeHundredSeedsKeepAllPromises() throws {
        var frames = 0
        var refusals = 0
        for seed in UInt64(1)...300 {
            let summary = try simulate(seed: seed, steps: 500)
            frames += summary.frames
            refusals += summary.refusals
        }
        // A world in which little happens would keep its promises too.
        #expect(frames > 100_000)
        #expect(refusals > 100)
    }

    /// Two sets with the same elements iterate differently even within a process, so a leak of their order shows here.
    @Test(arguments: UInt64(1)...30) func theSameSeedIsTheSameRun(seed: UInt64) throws {
        let first = try simulate(seed: seed, steps: 300)
        #expect(try simulate(seed: seed, steps: 300) == first)
        #expect(try simulate(seed: seed + 1000, steps: 300).digest != first.digest)
    }

    @Test func aShorterRunIsTheBeginningOfALongerOne() throws {
        var seen = 0
        for steps in stride(from: 0, through: 200, by: 20) {
            let summary = try simulate(seed: 1, steps: steps)
            #expect(summary.instructions >= seen)
            seen = summary.instructions
        }
        #expect(seen > 0)
    }

    @Test func summaryIsOneLine() throws {
        let summary = try simulate(seed: 9, steps: 0)
        #expect(
            summary.description
                == "seed 9: 0 steps, \(summary.loopCount) loops, 0 connections, 0 instructions, 0 frames in 0 writes, "
                + "0 refusals, digest cbf29ce484222325")
    }
}
