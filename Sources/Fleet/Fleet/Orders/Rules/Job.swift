import JSON

/// What ``DispatchPlanner`` needs of an order or a route.
protocol Job: Equatable, Sendable {
    associatedtype Transition: JobTransition where Transition.Subject == Self

    /// The noun for the job in responses to drivers: `Job` for an order, `Route` for a route.
    static var noun: String { get }
    /// How errors name the job: `Order ORD-1`, `Route R-1`.
    var label: String { get }
    var assignment: Assignment { get set }
    var auditSubject: AuditEntry.Subject { get }
    var pushPolicy: PushPolicy { get }
    /// The UTF-8 bytes of the texts and numbers that the job's events may contain, as often as one event contains them.
    var textBytes: Int { get }

    /// Sets the plan's ``DispatchPlan/order`` or ``DispatchPlan/route`` to this job.
    func place(in plan: inout DispatchPlan)
    /// The response to a command that concerns the job.
    func response(_ message: String, _ notificationIDs: [String]) -> CommandResponse
    /// Writes the job as responses show it: a JSON object.
    func write(to json: inout JSONWriter)
}

/// A change of a job that causes events, with the values that the events contain besides the job's fields.
protocol JobTransition {
    associatedtype Subject

    /// A driver accepted a job that had no driver.
    static func claimed(by driver: String, name: String?) -> Self
    /// A driver accepted a job that was assigned to them.
    static func accepted(by driver: String, name: String?) -> Self
    /// Transitions that together cause every event of a job, all with the same driver. ``EventSize`` measures the
    /// events.
    static func samples(driver: String, name: String?) -> [Self]
    /// The events, in the order in which they are published.
    /// - Parameter milliseconds: the time of the transition, in milliseconds since 1970.
    func events(of job: Subject, at milliseconds: Int64) -> [EventDraft]
}

extension Job {
    /// Whether any field differs in any byte. `==` alone is not enough: in Swift, strings with different bytes are
    /// equal if they are canonically equivalent, such as `é` as one or as two Unicode scalars.
    func differs(from other: Self) -> Bool { self != other || encoded != other.encoded }

    private var encoded: [UInt8] {
        var json = JSONWriter(capacity: 512)
        write(to: &json)
        return json.bytes
    }
}
