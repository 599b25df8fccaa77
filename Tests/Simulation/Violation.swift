/// A promise that did not hold, and how to see it again: the seed replays the run.
package struct Violation: Error, Equatable, CustomStringConvertible {
    /// The run.
    package let seed: UInt64
    /// The step of the run, from 1.
    package let step: Int
    /// What was done in that step.
    package let failedStep: String
    /// What was wrong after it.
    package let problem: String

    /// Reads like `seed 1, step 34, closed(12.3): connection 12.3 received … expected …`.
    package var description: String { "seed \(seed), step \(step), \(failedStep): \(problem)" }
}

/// What a checker found, before anybody says at which step.
struct Discrepancy: Error {
    let problem: String

    init(_ problem: String) { self.problem = problem }
}
