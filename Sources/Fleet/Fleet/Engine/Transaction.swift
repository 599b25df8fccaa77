import Access
import Primitives

/// What a command executes in: who acts, when, and the stores that it reads and writes.
package struct Transaction {
    let issued: IssuedCommand
    /// The inputs of plans. A command may add to them what it has read.
    var context: CommandContext
    /// The tables, and what the writer has in memory.
    let stores: CommandExecutor

    var actor: Identity { issued.actor }
    /// Milliseconds since 1970 by the wall clock, which people see.
    var now: Int64 { context.now }
    /// The same by the trusted clock: a jump of the wall clock must decide nothing that cannot be undone.
    var trustedNow: Int64 { context.now - stores.clockLead }

    /// Makes a plan and writes it. If a rule forbids the command, replies with the rule's error.
    func plan(
        _ makePlan: (inout DispatchPlanner, CommandContext) throws(RuleError) -> DispatchPlan
    ) throws(DatabaseError) -> CommandReply {
        try stores.execute(issued, now) { planner throws(RuleError) in try makePlan(&planner, context) }
    }

    /// The reply of a command that publishes nothing.
    func committed(_ response: CommandResponse) -> CommandReply { .committed(result(response)) }

    /// The result of a command that publishes nothing.
    func result(_ response: CommandResponse) -> CommandResult { stores.result(response, of: issued) }
}
