import TestSupport

/// Runs one seed's world of guaranteed delivery for some steps, lets it settle, and checks the contract
/// (`docs/delivery.md`) all along.
///
/// Everything follows from `seed`, so the same seed and steps reproduce a violation.
/// - Parameter fault: a fault to plant; by default none.
/// - Throws: the first ``Violation``.
package func simulateReplay(
    seed: UInt64, steps: Int, fault: ReplayFault = ReplayFault()
) throws(Violation) -> ReplaySummary {
    var dice = SplitMix(seed: seed ^ 0xDE11)
    let scenario = ReplayScenario(using: &dice)
    var workload = ReplayWorkload(scenario)
    var step = 0
    var description = "start"
    do throws(Discrepancy) {
        let world = try ReplayWorld(scenario, seed: seed, steps: steps, fault: fault)
        while step <= steps {
            let next = step < steps ? workload.next(in: world, using: &dice) : .settle
            (step, description) = (step + 1, next.description)
            try world.perform(next)
        }
        return world.judge.summary
    } catch {
        throw Violation(seed: seed, step: step, failedStep: description, problem: error.problem)
    }
}
