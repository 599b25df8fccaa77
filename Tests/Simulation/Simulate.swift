import TestSupport

/// Runs one seed's world for some steps, lets it settle, and checks all promises after every step.
///
/// Everything follows from `seed`, so the same seed and steps reproduce a violation.
/// - Parameter fault: a fault to plant; by default none.
/// - Throws: the first ``Violation``.
package func simulate(seed: UInt64, steps: Int, fault: Fault = Fault()) throws(Violation) -> Summary {
    var dice = SplitMix(seed: seed)
    let scenario = Scenario(using: &dice)
    var workload = Workload(scenario)
    var world = World(scenario, seed: seed, steps: steps, fault: fault)
    for step in 0...steps {
        let action = step < steps ? workload.next(in: world, using: &dice) : .settle
        do {
            try world.perform(action)
        } catch {
            throw Violation(seed: seed, step: step + 1, failedStep: action.description, problem: error.problem)
        }
    }
    return world.summary
}
