import Simulation
import Testing

/// Checks the contract of guaranteed delivery with many seeds, and that runs are reproducible.
@Suite struct ReplaySimulationTests {
    @Test func oneHundredSeedsPass() throws {
        let summaries = try (UInt64(1)...100).map { try simulateReplay(seed: $0, steps: 400) }
        // Runs in which little happens would pass without testing anything.
        let sum = { (value: (ReplaySummary) -> Int) in summaries.reduce(0) { $0 + value($1) } }
        #expect(sum(\.received) > 6_000)
        #expect(sum(\.pages) > 2_000)
        #expect(sum(\.gaps) > 200)
        #expect(sum(\.confirmations) > 1_500)
        #expect(sum(\.refused) > 200)
        #expect(sum(\.kills) > 50 && sum(\.stops) > 50)
    }

    /// A result that depends on the order of a set or a dictionary differs between the two runs.
    @Test(arguments: UInt64(1)...20) func sameSeedReproducesTheRun(seed: UInt64) throws {
        let first = try simulateReplay(seed: seed, steps: 400)
        #expect(try simulateReplay(seed: seed, steps: 400) == first)
        #expect(try simulateReplay(seed: seed + 1000, steps: 400).digest != first.digest)
    }

    @Test func summaryIsOneLine() throws {
        let summary = try simulateReplay(seed: 9, steps: 0)
        #expect(
            summary.description
                == "seed 9, delivery: \(summary.connections) connections, 0 notifications, 0 received, 0 pages, 0 gaps, "
                + "0 confirmations, 0 refused, 0 kills, 0 stops, digest cbf29ce484222325")
    }

    // MARK: Planted faults

    @Test(arguments: PlantedReplayFault.all) func plantedFaultIsFound(_ planted: PlantedReplayFault) throws {
        var others: [String] = []
        for seed in UInt64(1)...60 {
            guard let found = violation(seed: seed, planted.fault()) else { continue }
            if found.problem.contains(planted.problem) { return }
            others.append(found.description)
        }
        Issue.record("not found; other violations: \(others.prefix(5))")
    }

    @Test func violationIsReproducibleAndNamesSeedAndStep() throws {
        for planted in PlantedReplayFault.all {
            let first = (UInt64(1)...60).lazy.compactMap { violation(seed: $0, planted.fault()) }.first
            let found = try #require(first)
            #expect(violation(seed: found.seed, planted.fault()) == found)
            let form = /seed \d+, step \d+, .+: .+/
            #expect(found.description.wholeMatch(of: form) != nil, "\(found)")
        }
    }

    private func violation(seed: UInt64, _ fault: ReplayFault) -> Violation? {
        do {
            _ = try simulateReplay(seed: seed, steps: 400, fault: fault)
            return nil
        } catch {
            return error
        }
    }
}
