import Primitives

// Why calls about orders and routes are refused.

extension RuleError.Code {
    package static let unknownOrder = Self("unknownOrder", .unknown, "Order {} not found")
    package static let unknownRoute = Self("unknownRoute", .unknown, "Route {} not found")
    /// For the driver who accepts a job, or reports a step of it.
    package static let unknownJob = Self("unknownJob", .unknown, "{} not found")
    /// The driver has several open orders of a booking, and has named the booking.
    package static let severalOrders = Self(
        "severalOrders", .conflict, "Booking {} has several open orders: accept one of {}")
    /// The job is completed or cancelled.
    package static let jobEnded = Self("jobEnded", .conflict, "{} is {}")
    /// There is nobody to take the job from.
    package static let withoutDriver = Self("withoutDriver", .conflict, "{} has no driver")
    /// Another driver has the job.
    package static let jobTaken = Self("jobTaken", .conflict, "This {} has already been accepted by another driver")
    /// The job does not have the version that `If-Match` requires.
    package static let wrongVersion = Self("wrongVersion", .conflict, "{} has version {}; If-Match requires version {}")

    // MARK: Progress

    /// Another driver has the job, or nobody.
    package static let notYourJob = Self("notYourJob", .forbidden, "This job is not yours")
    /// No driver can report the step.
    package static let wrongStep = Self("wrongStep", .invalid, "Expected \"step\" to be one of {}")
    /// The job has ended.
    package static let noNextStep = Self("noNextStep", .invalid, "Cannot transition from {} to {}. The job is {}.")
    /// Another step comes first.
    package static let stepTooEarly = Self(
        "stepTooEarly", .invalid, "Cannot transition from {} to {}. Must go to {} first.")
    package static let notAccepted = Self("notAccepted", .invalid, "Cannot transition from {} to {}. Accept the job first.")
    /// There is no arrival to take back.
    package static let notArrived = Self("notArrived", .conflict, "{} is {}, not arrived")
    /// The driver takes back an arrival of long ago.
    package static let oldArrival = Self("oldArrival", .conflict, "An arrival can be taken back for {} minutes")
    /// The driver takes back a third arrival.
    package static let manyCorrections = Self("manyCorrections", .conflict, "The arrival was taken back twice")
}
