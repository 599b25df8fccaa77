/// A broken promise, with the seed that reproduces it.
package struct Violation: Error, Equatable, CustomStringConvertible {
    /// The run's seed.
    package let seed: UInt64
    /// The number of the step, from 1.
    package let step: Int
    /// A description of the step.
    package let failedStep: String
    /// What was wrong after the step.
    package let problem: String

    /// Reads like `seed 1, step 34, closed(12.3): connection 12.3 received … expected …`.
    package var description: String { "seed \(seed), step \(step), \(failedStep): \(problem)" }
}

/// What a checker found; ``Violation`` adds the step.
struct Discrepancy: Error {
    let problem: String

    init(_ problem: String) { self.problem = problem }
}
