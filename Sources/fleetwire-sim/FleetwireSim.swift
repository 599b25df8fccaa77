import ArgumentParser
import Glibc
import Simulation

/// `fleetwire-sim`: runs simulations of the fan-out core, which distributes events to subscribers, of guaranteed delivery,
/// and of three nodes and a bus. A simulation's seed determines all its steps.
@main
struct FleetwireSim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleetwire-sim",
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
                let line = Array("\(error)\n".utf8)
                _ = write(STDERR_FILENO, line, line.count)
                throw ExitCode.failure
            }
        }
        if seeds > 1 { print("\(seeds) seeds from \(seed), \(steps) steps each: ok") }
    }
}
