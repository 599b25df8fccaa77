import Access
import Fleet
import JSON
import Testing

@Suite struct JobProgressTests {
    private static let chain: [JobStatus] = [
        .available, .assigned, .accepted, .enRoute, .arrived, .loading, .inTransit, .unloading, .completed,
    ]

    /// The specified error text for reporting `step` in the status `from`; nil if the step is allowed.
    private func expected(_ from: JobStatus, _ step: JobStatus) -> String? {
        if step == .cancelled {
            return #"Expected "step" to be one of en_route, arrived, loading, in_transit, unloading, completed"#
        }
        let attempt = "Cannot transition from \(from.rawValue) to \(step.rawValue)."
        if from == .completed { return "\(attempt) The job is completed." }
        if from == .cancelled { return "\(attempt) The job is cancelled." }
        let next = Self.chain[Self.chain.firstIndex(of: from)! + 1]
        if step != next { return "\(attempt) Must go to \(next.rawValue) first." }
        return [.assigned, .accepted].contains(step) ? "\(attempt) Accept the job first." : nil
    }

    @Test(arguments: JobStatus.allCases, JobStatus.allCases)
    func acceptsOnlyTheNextStep(_ from: JobStatus, _ step: JobStatus) throws {
        var planner = RulesFixture.planner()
        let order = RulesFixture.order(from, driver: "42", name: "Dan")
        let report = ProgressReport(step: step)
        if let text = expected(from, step) {
            let error = ruleError { () throws(RuleError) in
                try planner.progress(report, of: order, RulesFixture.context(by: RulesFixture.driver))
            }
            #expect(error?.kind == .invalid && error?.text == text)
        } else {
            let plan = try planner.progress(report, of: order, RulesFixture.context(by: RulesFixture.driver))
            var expected = order
            (expected.assignment.status, expected.assignment.version) = (step, 6)
            expected.trip = TripRecord()
            expected.trip.driverName = "Dan Driver"
            var told: [String] = []
            switch step {
            case .enRoute:
                expected.trip.startedAt = RulesFixture.now
                told = ["tracking-REF-1 tracking-started", "booking-REF-1 driver-en-route"]
            case .arrived:
                expected.trip.arrivedAt = RulesFixture.now
                told = ["booking-REF-1 driver-arrival"]
            case .inTransit:
                expected.trip.departedAt = RulesFixture.now
                told = ["booking-REF-1 trip-started"]
            case .completed:
                expected.trip.completedAt = RulesFixture.now
                told = ["tracking-REF-1 tracking-stopped", "booking-REF-1 trip-completed"]
            default: break
            }
            #expect(plan.order == expected)
            #expect(plan.published == ["admin-channel job-progress", "booking-REF-1 job-progress"] + told)
        }
    }

    @Test func allowsSixPairsOfStatusAndStep() {
        let allowed = JobStatus.allCases.flatMap { from in JobStatus.allCases.filter { expected(from, $0) == nil } }
        #expect(allowed == [.enRoute, .arrived, .loading, .inTransit, .unloading, .completed])
    }

    @Test func errorTextsAreAsSpecified() {
        var planner = RulesFixture.planner()
        let skipped = ruleError { () throws(RuleError) in
            try planner.progress(
                ProgressReport(step: .inTransit), of: RulesFixture.order(.enRoute, driver: "42"),
                RulesFixture.context(by: RulesFixture.driver))
        }
        #expect(skipped?.text == "Cannot transition from en_route to in_transit. Must go to arrived first.")
        let ended = ruleError { () throws(RuleError) in
            try planner.progress(
                ProgressReport(step: .arrived), of: RulesFixture.order(.completed, driver: "42"),
                RulesFixture.context(by: RulesFixture.driver))
        }
        #expect(ended?.text == "Cannot transition from completed to arrived. The job is completed.")
    }

    /// - Parameter driver: the order's driver; nil: none. Driver 42 reports the step. In `\u{FF14}2` the digit 4 is a
    ///   full-width character, so this driver is not 42.
    @Test(arguments: JobStatus.allCases, ["43", nil, "4", "\u{FF14}2"] as [String?])
    func rejectsOtherDriversJobs(_ status: JobStatus, _ driver: String?) {
        var planner = RulesFixture.planner()
        let error = ruleError { () throws(RuleError) in
            try planner.progress(
                ProgressReport(step: .arrived), of: RulesFixture.order(status, driver: driver),
                RulesFixture.context(by: RulesFixture.driver))
        }
        #expect(error?.kind == .forbidden)
    }

    @Test func rejectsAnInvalidStepEvenIfTheJobDoesNotExist() {
        var planner = RulesFixture.planner()
        let unknown = ruleError { () throws(RuleError) in
            try planner.progress(ProgressReport(step: .arrived), of: nil, RulesFixture.context(by: RulesFixture.driver))
        }
        #expect(unknown == RuleError(.unknownJob, "Job"))
        let wrongStep = ruleError { () throws(RuleError) in
            try planner.progress(ProgressReport(step: .cancelled), of: nil, RulesFixture.context(by: RulesFixture.driver))
        }
        #expect(wrongStep?.kind == .invalid)
    }

    @Test func checksTheTransitionBeforeTheVersion() {
        var planner = RulesFixture.planner()
        let order = RulesFixture.order(.enRoute, driver: "42")
        let stale = RulesFixture.context(by: RulesFixture.driver, expectedVersion: 4)
        let error = ruleError { () throws(RuleError) in
            try planner.progress(ProgressReport(step: .arrived), of: order, stale)
        }
        #expect(error == RuleError(.wrongVersion, "Order ORD-1", "5", "4"))
        let wrongStep = ruleError { () throws(RuleError) in
            try planner.progress(ProgressReport(step: .loading), of: order, stale)
        }
        #expect(wrongStep?.kind == .invalid)
    }

    @Test func auditContainsNotesAndPosition() throws {
        var planner = RulesFixture.planner()
        var report = ProgressReport(step: .enRoute)
        report.notes = "gate \"B\""
        report.latitude = JSONNumber(text: "51.50")
        report.longitude = JSONNumber(text: "-0.1e0")
        let order = RulesFixture.order(.accepted, driver: "42")
        let plan = try planner.progress(report, of: order, RulesFixture.context(by: RulesFixture.driver))
        let audit = try #require(plan.audit)
        #expect(audit.actor == "driver:42" && audit.action == "progress" && audit.subject == .order("ORD-1"))
        #expect(audit.before == .init(status: .accepted, driverID: "42"))
        #expect(audit.after == .init(status: .enRoute, driverID: "42"))
        #expect(
            audit.detailsText
                == #"{"notes":"gate \"B\"","latitude":51.50,"longitude":-0.1e0}"#)
        let bare = try planner.progress(
            ProgressReport(step: .enRoute), of: order, RulesFixture.context(by: RulesFixture.driver))
        #expect(bare.audit?.details == nil)
    }

    // MARK: Repetitions

    /// The last entry in the audit log of an order that driver 42 has reported as loading.
    private func entry(
        by actor: Identity = RulesFixture.driver, _ action: String = "progress", after status: JobStatus = .loading,
        at: Int64 = RulesFixture.now
    ) -> AuditEntry {
        AuditEntry(
            at: at, actor: actor.key, action: action, subject: .order("ORD-1"), correlationID: "c-0",
            after: AuditEntry.State(status: status, driverID: "42"))
    }

    private func repeatLoading(after last: AuditEntry?, at now: Int64) throws(RuleError) -> DispatchPlan {
        var planner = RulesFixture.planner()
        var report = ProgressReport(step: .loading)
        report.notes = "again"
        return try planner.progress(
            report, of: RulesFixture.order(.loading, driver: "42"), after: last,
            RulesFixture.context(by: RulesFixture.driver, at: now, expectedVersion: 4))
    }

    /// Apps repeat requests whose response got lost. The version in `If-Match` is that before the first report.
    @Test(arguments: [0, 1, 600_000, -5_000]) func repeatsTheResponseOfTheFirstReport(_ milliseconds: Int64) throws {
        let plan = try repeatLoading(after: entry(), at: RulesFixture.now + milliseconds)
        #expect(plan.isRepetition && plan.response == .progress(.loading, at: RulesFixture.now))
        #expect(plan.order == nil && plan.audit == nil && plan.notifications.isEmpty && plan.pushes.isEmpty)
    }

    @Test func rejectsOtherReportsOfTheSameStep() {
        let text = "Cannot transition from loading to loading. Must go to in_transit first."
        let entries: [(AuditEntry?, Int64)] = [
            (nil, 0), (entry(), 600_001), (entry(by: RulesFixture.admin), 0), (entry("assign"), 0), (entry("update"), 0),
            (entry(after: .arrived), 0), (entry(by: Identity(role: .driver, id: "43")), 0),
        ]
        for (last, milliseconds) in entries {
            let error = ruleError { () throws(RuleError) in
                try repeatLoading(after: last, at: RulesFixture.now + milliseconds)
            }
            #expect(error?.kind == .invalid && error?.text == text)
        }
    }

    @Test func namesTheNextStepAlsoForStepsThatDriversDoNotReport() {
        for (step, from) in [(JobStatus.assigned, JobStatus.enRoute), (.available, .enRoute)] {
            var planner = RulesFixture.planner()
            let error = ruleError { () throws(RuleError) in
                try planner.progress(
                    ProgressReport(step: step), of: RulesFixture.order(from, driver: "42"),
                    RulesFixture.context(by: RulesFixture.driver))
            }
            #expect(error?.text == "Cannot transition from en_route to \(step.rawValue). Must go to arrived first.")
        }
    }
}
