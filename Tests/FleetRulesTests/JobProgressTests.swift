import FleetRules
import JSON
import Testing

@Suite struct JobProgressTests {
    private static let chain: [JobStatus] = [
        .available, .assigned, .accepted, .enRoute, .arrived, .loading, .inTransit, .unloading, .completed,
    ]

    /// What is said of a step from a status, by the words of the contract; nil where it may be taken.
    private func expected(_ from: JobStatus, _ step: JobStatus) -> String? {
        if [.available, .assigned, .cancelled].contains(step) {
            return "step must be one of en_route, arrived, loading, in_transit, unloading, completed"
        }
        let attempt = "Cannot transition from \(from.rawValue) to \(step.rawValue)."
        if from == .completed { return "\(attempt) The job is completed." }
        if from == .cancelled { return "\(attempt) The job is cancelled." }
        let next = Self.chain[Self.chain.firstIndex(of: from)! + 1]
        if step != next { return "\(attempt) Must go to \(next.rawValue) first." }
        return step == .accepted ? "\(attempt) The job has to be accepted first, by accept." : nil
    }

    @Test(arguments: JobStatus.allCases, JobStatus.allCases)
    func onlyTheNextStepIsTaken(_ from: JobStatus, _ step: JobStatus) throws {
        var rules = RulesFixture.rulebook()
        let order = RulesFixture.order(from, driver: "42", name: "Said")
        let report = ProgressReport(step: step)
        if let text = expected(from, step) {
            let refused = refusal { () throws(RuleError) in
                try rules.progress(report, "ORD-1", on: order, RulesFixture.occasion(by: RulesFixture.driver))
            }
            #expect(refused == RuleError(.invalid, text))
        } else {
            let decision = try rules.progress(report, "ORD-1", on: order, RulesFixture.occasion(by: RulesFixture.driver))
            var stored = order
            stored.status = step
            stored.version = 6
            #expect(decision.order == stored)
            let arrival = step == .arrived ? ["booking-REF-1 driver-arrival"] : []
            #expect(decision.said == ["admin-channel job-progress", "booking-REF-1 job-progress"] + arrival)
        }
    }

    @Test func sixOfTheHundredWaysAreOpen() {
        let open = JobStatus.allCases.flatMap { from in JobStatus.allCases.filter { expected(from, $0) == nil } }
        #expect(open == [.enRoute, .arrived, .loading, .inTransit, .unloading, .completed])
    }

    @Test func theContractsOwnTexts() {
        var rules = RulesFixture.rulebook()
        let skipped = refusal { () throws(RuleError) in
            try rules.progress(
                ProgressReport(step: .inTransit), "ORD-1", on: RulesFixture.order(.enRoute, driver: "42"),
                RulesFixture.occasion(by: RulesFixture.driver))
        }
        #expect(skipped?.text == "Cannot transition from en_route to in_transit. Must go to arrived first.")
        let ended = refusal { () throws(RuleError) in
            try rules.progress(
                ProgressReport(step: .arrived), "ORD-1", on: RulesFixture.order(.completed, driver: "42"),
                RulesFixture.occasion(by: RulesFixture.driver))
        }
        #expect(ended?.text == "Cannot transition from completed to arrived. The job is completed.")
    }

    @Test(arguments: JobStatus.allCases, ["43", nil, "4", "\u{FF14}2"] as [String?])
    func onlyHisOwnJobMoves(_ status: JobStatus, _ owner: String?) {
        var rules = RulesFixture.rulebook()
        let refused = refusal { () throws(RuleError) in
            try rules.progress(
                ProgressReport(step: .arrived), "ORD-1", on: RulesFixture.order(status, driver: owner),
                RulesFixture.occasion(by: RulesFixture.driver))
        }
        #expect(refused?.kind == .forbidden)
    }

    @Test func anUnknownJobIsNotFoundButNonsenseIsNamedFirst() {
        var rules = RulesFixture.rulebook()
        let unknown = refusal { () throws(RuleError) in
            try rules.progress(ProgressReport(step: .arrived), "X", on: nil, RulesFixture.occasion(by: RulesFixture.driver))
        }
        #expect(unknown == RuleError(.unknown, "Job not found"))
        let nonsense = refusal { () throws(RuleError) in
            try rules.progress(ProgressReport(step: .cancelled), "X", on: nil, RulesFixture.occasion(by: RulesFixture.driver))
        }
        #expect(nonsense?.kind == .invalid)
    }

    @Test func aTransitionThatMakesNoSenseIsNamedBeforeAStaleVersion() {
        var rules = RulesFixture.rulebook()
        let order = RulesFixture.order(.enRoute, driver: "42")
        let stale = RulesFixture.occasion(by: RulesFixture.driver, expectedVersion: 4)
        let refused = refusal { () throws(RuleError) in
            try rules.progress(ProgressReport(step: .arrived), "B-1", on: order, stale)
        }
        #expect(refused == RuleError(.conflict, "Order ORD-1 has version 5, not 4"))
        let nonsense = refusal { () throws(RuleError) in
            try rules.progress(ProgressReport(step: .loading), "B-1", on: order, stale)
        }
        #expect(nonsense?.kind == .invalid)
    }

    @Test func notesAndPositionAreKeptInTheAudit() throws {
        var rules = RulesFixture.rulebook()
        var report = ProgressReport(step: .enRoute)
        report.notes = "gate \"B\""
        report.latitude = JSONNumber(text: "51.50")
        report.longitude = JSONNumber(text: "-0.1e0")
        let order = RulesFixture.order(.accepted, driver: "42")
        let decision = try rules.progress(report, "ORD-1", on: order, RulesFixture.occasion(by: RulesFixture.driver))
        let audit = try #require(decision.audit)
        #expect(audit.actor == "driver:42" && audit.action == "progress" && audit.subject == .order("ORD-1"))
        #expect(audit.before == .init(status: .accepted, driverID: "42"))
        #expect(audit.after == .init(status: .enRoute, driverID: "42"))
        #expect(
            audit.details.map { String(decoding: $0, as: UTF8.self) }
                == #"{"notes":"gate \"B\"","latitude":51.50,"longitude":-0.1e0}"#)
        let silent = try rules.progress(
            ProgressReport(step: .enRoute), "ORD-1", on: order, RulesFixture.occasion(by: RulesFixture.driver))
        #expect(silent.audit?.details == nil)
    }
}
