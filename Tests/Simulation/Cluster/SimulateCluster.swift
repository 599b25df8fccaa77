import TestSupport

/// Runs one seed's cluster for some steps, lets it settle, and checks all promises.
///
/// Everything follows from `seed`, so the same seed and steps reproduce a violation.
/// - Parameters:
///   - fault: a defect to plant; by default none.
///   - options: what may happen.
/// - Throws: the first ``Violation``, which names the last steps.
package func simulateCluster(
    seed: UInt64, steps: Int, fault: ClusterFault? = nil, options: ClusterOptions = ClusterOptions()
) throws(Violation) -> ClusterSummary {
    var dice = SplitMix(seed: seed)
    let scenario = ClusterScenario(options, using: &dice)
    let workload = ClusterWorkload(scenario: scenario)
    var history: [String] = []
    var number = 0
    do {
        var world = try ClusterWorld(scenario, seed: seed, fault: fault, using: SplitMix(seed: dice.next()))
        for step in 0...steps {
            number = step + 1
            let action = step < steps ? workload.next(in: world, using: &dice) : .settle
            history.append("\(world.now) \(action)")
            if history.count > 30 { history.removeFirst() }
            try world.perform(action)
        }
        world.summary.dropped = world.bus.dropped
        return world.summary
    } catch {
        let steps = history.joined(separator: "\n  ")
        throw Violation(seed: seed, step: number, failedStep: "cluster", problem: "\(error.problem). The last steps:\n  \(steps)")
    }
}
