import ArgumentParser
import Simulation

/// `fleetwire simulate`: replays one seeded run of the fan-out core.
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Replay seeded simulations of the fan-out core.")

    @Option(help: "The first seed.")
    var seed: UInt64 = 1

    @Option(help: "How many seeds, counting up.")
    var seeds: UInt64 = 1

    @Option(help: "Steps of each run.")
    var steps = 500

    func validate() throws {
        guard steps >= 0 else { throw ValidationError("--steps: expected 0 or more") }
        guard !seed.addingReportingOverflow(seeds).overflow else { throw ValidationError("--seed: too large to count up from") }
    }

    func run() throws {
        for seed in seed..<(seed + seeds) {
            do {
                let summary = try simulate(seed: seed, steps: steps)
                if seeds == 1 { print(summary) }
            } catch {
                StandardError.print("\(error)")
                throw ExitCode.failure
            }
        }
        if seeds > 1 { print("\(seeds) seeds from \(seed), \(steps) steps each: ok") }
    }
}
