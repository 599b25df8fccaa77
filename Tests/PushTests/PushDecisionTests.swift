import Fleet
import Push
import Testing

@Suite struct PushDecisionTests {
    @Test func sendsByDefault() throws {
        #expect(try PushFixture.message(PushFixture.job("job-assigned")).title == "New job")
    }

    @Test func expiresToTheMillisecond() {
        let job = PushFixture.job("job-assigned", lifetimeSeconds: 1)
        #expect(decide(job, at: job.notification.expiresAt - 1).isSent)
        #expect(decide(job, at: job.notification.expiresAt) == .expired)
        // An entry that is off makes no difference to an expired job.
        #expect(decide(PushFixture.job("schedule-updated"), at: .max) == .expired)
    }

    @Test func cancelsIfThereIsNoEntryOrItsModeIsOff() {
        #expect(decide(PushFixture.job("unheard-of")) == .cancelled(reason: "off"))
        #expect(decide(PushFixture.job("schedule-updated")) == .cancelled(reason: "off"))
        #expect(decide(PushFixture.job("job-assigned"), PushCatalogue(.builtIn, mode: .off)) == .cancelled(reason: "off"))
        #expect(
            decide(PushFixture.job("schedule-updated"), PushCatalogue(.builtIn, mode: .fallback)) == .cancelled(reason: "off"))
    }

    /// A dispatcher wants it pushed. A person's preferences and an entry without words stand.
    @Test func aReminderIsPushedAlthoughTheEntryIsOff() {
        for event in ["job-available-again", "schedule-updated"] {
            #expect(decide(PushFixture.job(event, channel: "drivers-channel")) == .cancelled(reason: "off"))
            #expect(decide(PushFixture.job(event, channel: "drivers-channel", isReminder: true)).isSent)
        }
        var preferences = Preferences()
        preferences.types = ["job_update": false]
        let unwanted = PushFixture.job("job-available-again", preferences: preferences, isReminder: true)
        #expect(decide(unwanted) == .cancelled(reason: "preferences"))
        #expect(decide(PushFixture.job("unheard-of", isReminder: true)) == .cancelled(reason: "off"))
    }

    /// `push` concerns the recipient's own channel, `broadcast` drivers-channel.
    @Test(arguments: NotificationCatalogue.PushMode.allCases)
    func broadcastIgnoresThePushMode(_ mode: NotificationCatalogue.PushMode) {
        func decide(_ broadcast: Bool, channel: String) -> PushDecision {
            let catalogue = PushFixture.makeCatalogue(
                PushFixture.entry("job-cancelled", body: "gone") {
                    $0.push = mode
                    $0.broadcast = broadcast
                })
            let job = PushFixture.job("job-cancelled", channel: channel)
            return PushDecision(
                on: job, templates: catalogue, now: PushFixture.now, minuteOfDay: { _, _ in nil }, presence: { _ in .connected })
        }
        #expect(decide(true, channel: "drivers-channel").isSent)
        let (announced, own) = (decide(false, channel: "drivers-channel"), decide(true, channel: "driver-42"))
        switch mode {
        case .mirror: #expect(announced.isSent && own.isSent)
        case .fallback: #expect(announced.isSent && own == .cancelled(reason: "connected"))
        case .off: #expect([announced, own] == Array(repeating: .cancelled(reason: "off"), count: 2))
        }
    }

    /// A preference can name an event, the event's entry, or the data type of that entry. It applies to urgent entries,
    /// too. `isOff`: whether a preference for `name` switches the event off.
    @Test(arguments: [
        ("job-assigned", "new_job", true), ("job-assigned", "job-assigned", true), ("job-assigned", "job_update", false),
        ("job-removed", "job_update", true), ("new-batch-available", "NEW_BATCH_AVAILABLE", true),
        ("new-batch-available", "new-batch-available", true), ("driver-arrival", "driver_arrival", true),
        ("driver-arrival", "driver-arrival", true), ("driver_arrival", "driver-arrival", false),
    ])
    func preferencesSwitchEventsOff(_ event: String, _ name: String, _ isOff: Bool) {
        var preferences = Preferences()
        preferences.types = [name: false, "another": false]
        let job = PushFixture.job(event, preferences: preferences)
        #expect(decide(job) == .cancelled(reason: "preferences") || !isOff)
        #expect(decide(job).isSent == !isOff)
        preferences.types = [name: true]
        #expect(decide(PushFixture.job(event, preferences: preferences)).isSent)
    }

    /// The data type, the event and the type of one entry all differ; a preference for any of them applies.
    @Test(arguments: ["batch_news", "new-batch", "NEW_BATCH"])
    func preferenceForAnyNameOfAnEntryApplies(_ name: String) {
        let catalogue = PushFixture.makeCatalogue(PushFixture.entry("NEW_BATCH") { $0.dataType = "batch_news" })
        var preferences = Preferences()
        preferences.types = [name: false]
        let decision = decide(PushFixture.job("new-batch", preferences: preferences), catalogue)
        #expect(decision == .cancelled(reason: "preferences"))
    }

    @Test func quietHoursDoNotApplyToUrgentEntries() {
        #expect(decide(quiet("job-assigned", 22 * 60, 7 * 60), minute: 23 * 60) == .cancelled(reason: "quiet_hours"))
        #expect(decide(quiet("job-assigned", 22 * 60, 7 * 60), minute: 7 * 60 - 1) == .cancelled(reason: "quiet_hours"))
        #expect(decide(quiet("job-assigned", 22 * 60, 7 * 60), minute: 7 * 60).isSent)
        #expect(decide(quiet("job-removed", 22 * 60, 7 * 60), minute: 23 * 60).isSent)
        #expect(decide(quiet("driver-arrival", 0, 0), minute: 12 * 60).isSent)
    }

    @Test func quietHoursUseTheirTimeZone() {
        var queries: [String] = []
        let job = quiet("job-assigned", 0, 1, zone: "Asia/Kolkata")
        let decision = PushDecision(
            on: job, templates: PushFixture.catalogue, now: PushFixture.now,
            minuteOfDay: { zone, time in
                queries.append("\(zone) \(time)")
                return 0
            }, presence: { _ in .away })
        #expect(decision == .cancelled(reason: "quiet_hours"))
        #expect(queries == ["Asia/Kolkata \(PushFixture.now)"])
    }

    /// The fixture's time is 09:30 UTC. Also checks a time before 1970.
    @Test func unknownTimeZoneIsTreatedAsUTC() {
        let job = quiet("job-assigned", 9 * 60 + 30, 9 * 60 + 31, zone: "Nowhere/At_All")
        #expect(decide(job, minute: nil) == .cancelled(reason: "quiet_hours"))
        #expect(decide(job, at: PushFixture.now + 60_000, minute: nil).isSent)
        let evening = quiet("job-assigned", 23 * 60 + 59, 0, zone: "Nowhere/At_All")
        #expect(decide(evening, at: -60_000, minute: nil) == .cancelled(reason: "quiet_hours"))
    }

    @Test func quietHoursFollowDaylightSavingTime() {
        // 21:30 UTC: in London 21:30 in winter, 22:30 in summer.
        let job = PushFixture.job("job-assigned", lifetimeSeconds: 86_400 * 365, preferences: quietNights)
        let winter: Int64 = 1_795_296_600_000  // 2026-11-21T21:30:00Z
        let summer: Int64 = 1_813_613_400_000  // 2027-06-21T21:30:00Z
        #expect(decideByLocalTime(job, winter).isSent)
        #expect(decideByLocalTime(job, summer) == .cancelled(reason: "quiet_hours"))
    }

    @Test func fallbackSendsOnlyToDisconnectedRecipients() {
        let fallback = PushCatalogue(.builtIn, mode: .fallback)
        var queries: [String] = []
        let decision = PushDecision(
            on: PushFixture.job("job-assigned"), templates: fallback, now: PushFixture.now, minuteOfDay: { _, _ in nil },
            presence: {
                queries.append($0)
                return .connected
            })
        #expect(decision == .cancelled(reason: "connected"))
        #expect(queries == ["driver:42"])
        #expect(decide(PushFixture.job("job-assigned"), fallback).isSent)
        // The mode `mirror` ignores connections.
        let mirrored = PushDecision(
            on: PushFixture.job("job-assigned"), templates: PushFixture.catalogue, now: PushFixture.now,
            minuteOfDay: { _, _ in nil },
            presence: { _ in
                Issue.record("presence was called")
                return .away
            })
        #expect(mirrored.isSent)
    }

    /// A recipient who is connected to a durable channel has time to confirm the notification.
    @Test func fallbackWaitsForTheConfirmation() {
        let fallback = PushCatalogue(.builtIn, mode: .fallback)
        let job = PushFixture.job("job-assigned")
        let (created, expires) = (job.notification.createdAt, job.notification.expiresAt)
        let confirming = RecipientPresence.confirming(within: 5_000)
        func decide(at now: Int64, _ presence: RecipientPresence = confirming) -> PushDecision {
            PushDecision(
                on: job, templates: fallback, now: now, minuteOfDay: { _, _ in nil }, presence: { _ in presence })
        }
        for now in [created, created + 4_999] { #expect(decide(at: now) == .wait(until: created + 5_000)) }
        #expect(decide(at: created + 5_000).isSent)
        #expect(decide(at: created, .away).isSent)
        let ofBooking = PushDecision(
            on: PushFixture.job("job-assigned", channel: "booking-1"), templates: fallback, now: created,
            minuteOfDay: { _, _ in nil }, presence: { _ in confirming })
        #expect(ofBooking == .cancelled(reason: "connected"), "nobody can confirm it")
        #expect(decide(at: created - 1).isSent, "the clock was set back")
        #expect(decide(at: created, .confirming(within: expires - created)).isSent, "it would expire meanwhile")
    }

    /// If several reasons apply, preferences take precedence over quiet hours, and quiet hours over the connection.
    @Test func reasonsHaveAPrecedence() {
        var job = quiet("job-assigned", 0, 0)
        let fallback = PushCatalogue(.builtIn, mode: .fallback)
        #expect(decide(job, fallback, .connected) == .cancelled(reason: "quiet_hours"))
        var preferences = job.preferences
        preferences.types = ["new_job": false]
        job = PushFixture.job("job-assigned", preferences: preferences)
        #expect(decide(job, fallback, .connected) == .cancelled(reason: "preferences"))
    }

    /// The default quiet hours: 22:00 to 07:00 in London.
    private var quietNights: Preferences {
        var preferences = Preferences()
        preferences.quietHours.isEnabled = true
        return preferences
    }

    /// A job whose recipient has quiet hours, in minutes since midnight.
    private func quiet(_ event: String, _ from: Int, _ to: Int, zone: String = "Europe/London") -> PushJob {
        var preferences = quietNights
        preferences.quietHours.from = from
        preferences.quietHours.to = to
        preferences.quietHours.timeZone = zone
        return PushFixture.job(event, preferences: preferences)
    }

    /// - Parameter minute: the minute of the day in every time zone; nil: every time zone is unknown.
    private func decide(
        _ job: PushJob, _ catalogue: PushCatalogue = PushFixture.catalogue, _ presence: RecipientPresence = .away,
        at now: Int64 = PushFixture.now, minute: Int? = 0
    ) -> PushDecision {
        PushDecision(on: job, templates: catalogue, now: now, minuteOfDay: { _, _ in minute }, presence: { _ in presence })
    }

    private func decideByLocalTime(_ job: PushJob, _ now: Int64) -> PushDecision {
        PushDecision(
            on: job, templates: PushFixture.catalogue, now: now, minuteOfDay: LocalTime.minuteOfDay(in:at:),
            presence: { _ in .away })
    }
}

extension PushDecision {
    fileprivate var isSent: Bool { if case .send = self { true } else { false } }
}
