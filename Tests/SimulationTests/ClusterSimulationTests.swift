import Simulation
import Testing

/// Checks the contract of several nodes with many seeds: three nodes and a bus that delays, drops and partitions.
@Suite struct ClusterSimulationTests {
    private static let blocks: [ClosedRange<UInt64>] = stride(from: 1, through: 181, by: 20).map { first in first...first + 19 }

    /// The blocks run beside each other.
    @Test(arguments: blocks) func twentySeedsPass(seeds: ClosedRange<UInt64>) throws {
        let summaries = try seeds.map { try simulateCluster(seed: $0, steps: 250) }
        // Runs in which little happens would pass without testing anything.
        let sum = { (value: (ClusterSummary) -> Int) in summaries.reduce(0) { $0 + value($1) } }
        #expect(sum(\.successes) > 300)
        #expect(sum(\.delivered) > 500)
        #expect(sum(\.edges) > 200)
        #expect(sum(\.cuts) + sum(\.deaths) + sum(\.freezes) > 5)
    }

    /// Without faults each edge is told exactly once, and all counts are right.
    @Test(arguments: blocks.prefix(2)) func quietBusPasses(seeds: ClosedRange<UInt64>) throws {
        var options = ClusterOptions()
        (options.cuts, options.deaths, options.losses) = (false, false, false)
        for seed in seeds { _ = try simulateCluster(seed: seed, steps: 250, options: options) }
    }

    /// A result that depends on the order of a set or a dictionary differs between the two runs.
    @Test(arguments: UInt64(1)...10) func sameSeedReproducesTheRun(seed: UInt64) throws {
        let first = try simulateCluster(seed: seed, steps: 250)
        #expect(try simulateCluster(seed: seed, steps: 250) == first)
        #expect(try simulateCluster(seed: seed + 1000, steps: 250).digest != first.digest)
    }

    // MARK: Planted defects

    private static let planted: [(fault: ClusterFault, problem: String)] = [
        (.successBeforeGrant, "has not reached"), (.judgesWhileDisconnected, "dead while it is disconnected"),
        (.neverJudges, "whose node has died"), (.decidesEdgesItself, "twice in a row: channelOccupied"),
        (.lateBuffer, "late: it was published"), (.ignoresMembers, "has the members"),
    ]

    @Test(arguments: planted.indices) func plantedDefectIsFound(index: Int) throws {
        let (fault, problem) = Self.planted[index]
        var others: [String] = []
        for seed in UInt64(1)...200 {
            guard let found = violation(seed: seed, fault) else { continue }
            if found.problem.contains(problem) {
                #expect(violation(seed: seed, fault) == found)
                #expect(found.description.contains("seed \(seed), step ") && found.description.contains("The last steps:"))
                return
            }
            others.append(found.problem.prefix { $0 != "\n" } + " (seed \(seed))")
        }
        Issue.record("\(fault) was not found; other violations: \(others.prefix(5))")
    }

    private func violation(seed: UInt64, _ fault: ClusterFault) -> Violation? {
        do {
            _ = try simulateCluster(seed: seed, steps: 250, fault: fault)
            return nil
        } catch {
            return error
        }
    }
}
