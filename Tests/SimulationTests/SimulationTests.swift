import Simulation
import Testing

/// Checks the fan-out's promises with many seeds, and that runs are reproducible.
@Suite struct SimulationTests {
    @Test func twoHundredSeedsPass() throws {
        let summaries = try (UInt64(1)...200).map { try simulate(seed: $0, steps: 300) }
        // Runs in which little happens would pass without testing anything.
        #expect(summaries.reduce(0) { $0 + $1.frames } > 50_000)
        #expect(summaries.reduce(0) { $0 + $1.rejectedPublishes } > 20)
        #expect(summaries.reduce(0) { $0 + $1.rejectedConnections } > 200)
        #expect(summaries.reduce(0) { $0 + $1.terminated } > 50)
        #expect(summaries.reduce(0) { $0 + $1.revocations } > 40)
        #expect(summaries.reduce(0) { $0 + $1.ownerships } > 100)
        #expect(summaries.reduce(0) { $0 + $1.keptNames } > 40)
        #expect(summaries.reduce(0) { $0 + $1.webhookEvents } > 5_000)
    }

    /// Two equal sets may iterate in different orders even within one process. So a result that depends on such an
    /// order differs between the two runs.
    @Test(arguments: UInt64(1)...30) func sameSeedReproducesTheRun(seed: UInt64) throws {
        let first = try simulate(seed: seed, steps: 300)
        #expect(try simulate(seed: seed, steps: 300) == first)
        #expect(try simulate(seed: seed + 1000, steps: 300).digest != first.digest)
    }

    @Test func moreStepsNeverMeanFewerInstructions() throws {
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
                + "0 rejected publishes, 0 rejected connections, 0 terminated, 0 revocations, digest cbf29ce484222325")
    }
}
