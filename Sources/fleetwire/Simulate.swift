import ArgumentParser
import Simulation

/// `fleetwire simulate`: runs simulations of the fan-out core, which distributes events to subscribers, of guaranteed
/// delivery, and of three nodes and a bus. A simulation's seed determines all its steps.
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run seeded simulations of the fan-out core, of guaranteed delivery and of a cluster.")

    @Option(help: "The first seed.")
    var seed: UInt64 = 1

    @Option(help: "The number of consecutive seeds to run.")
    var seeds: UInt64 = 1

    @Option(help: "The number of steps of each run.")
    var steps = 500

    func validate() throws {
        guard steps >= 0 else { throw ValidationError("Expected --steps to be at least 0, found \(steps)") }
        guard !seed.addingReportingOverflow(seeds).overflow else {
            throw ValidationError("Expected --seed plus --seeds to be at most \(UInt64.max)")
        }
    }

    func run() throws {
        for seed in seed..<(seed + seeds) {
            do {
                let summary = try simulate(seed: seed, steps: steps)
                let delivery = try simulateReplay(seed: seed, steps: steps)
                let cluster = try simulateCluster(seed: seed, steps: steps)
                if seeds == 1 { print(summary, delivery, cluster, separator: "\n") }
            } catch {
                StandardError.print("\(error)")
                throw ExitCode.failure
            }
        }
        if seeds > 1 { print("\(seeds) seeds from \(seed), \(steps) steps each: ok") }
    }
}
