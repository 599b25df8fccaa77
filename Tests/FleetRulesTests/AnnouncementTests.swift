import FleetRules
import Testing

@Suite struct AnnouncementTests {
    private func announced(
        _ type: String, _ audience: Announcement.Audience, _ data: String = "{}", rules: NotificationRules = .init()
    ) throws(RuleError) -> DispatchPlan {
        var planner = RulesFixture.planner()
        let announcement = Announcement(type: type, audience: audience, data: Array(data.utf8))
        return try planner.announce(announcement, RulesFixture.context(rules: rules))
    }

    @Test(arguments: [
        ("NEW_BATCH_AVAILABLE", "new-batch-available"), ("driver_arrival", "driver-arrival"), ("job-assigned", "job-assigned"),
        ("DRIVER_APPROVED", "driver-approved"), ("Mixed_Case-2", "mixed-case-2"),
    ])
    func theEventIsTheTypeInKebab(_ type: String, _ event: String) throws {
        #expect(try announced(type, .everyDriver).published == ["drivers-channel \(event)"])
    }

    @Test func eachIsToldOnHisOwnChannelOnce() throws {
        #expect(try announced("X", .drivers(["2", "1", "2", "10"])).published == ["driver-2 x", "driver-1 x", "driver-10 x"])
        #expect(try announced("X", .customer("c7")).published == ["customer-c7 x"])
        let error = ruleError { () throws(RuleError) in try announced("X", .drivers([])) }
        #expect(error?.kind == .invalid && error?.text.contains("to.drivers") == true)
    }

    @Test(arguments: [
        ("{}", ""), (#" { "a" : 1.50 , "b":"\u0041\/" } "#, #""a":1.50,"b":"\u0041\/","#),
        (#"{"notificationId":1,"correlationId":{"a":[]}}"#, ""),
        (#"{"x":{"notificationId":1, "y":2},"not\u0069ficationId":1}"#, #""x":{"notificationId":1, "y":2},"#),
        (#"{"a":1,"a":2,"notificationID":3}"#, #""a":1,"a":2,"notificationID":3,"#),
    ])
    func dataPassesAsItWasWritten(_ data: String, _ members: String) throws {
        let told = try announced("X", .everyDriver, data).notifications[0]
        #expect(told.text == #"{\#(members)"notificationId":"\#(told.id)","correlationId":"c-1"}"#)
    }

    @Test(arguments: ["", "[]", "1", "{", #"{"a":}"#, "null", #"{"a":1} x"#])
    func dataThatIsNoObjectIsRefused(_ data: String) {
        let error = ruleError { () throws(RuleError) in try announced("X", .everyDriver, data) }
        #expect(error?.kind == .invalid && error?.text.hasPrefix("data ") == true)
    }

    @Test func dataThatIsTooLargeIsNamed() throws {
        let filler = String(repeating: "x", count: 200)
        let fits = try announced("X", .everyDriver, #"{"a":"\#(filler)"}"#).notifications[0].data.count
        let exact = try announced("X", .everyDriver, #"{"a":"\#(filler)"}"#, rules: NotificationRules(eventBytesMax: fits))
        #expect(exact.notifications.count == 1)
        let error = ruleError { () throws(RuleError) in
            try announced("X", .drivers(["1"]), #"{"a":"\#(filler)"}"#, rules: NotificationRules(eventBytesMax: fits - 1))
        }
        #expect(error == RuleError(.invalid, "data makes the event x larger than \(fits - 1) bytes"))
    }

    @Test func anAnnouncementConcernsNoOrder() throws {
        let plan = try announced("DRIVER_APPROVED", .customer("c7"))
        #expect(plan.order == nil && plan.route == nil)
        #expect(plan.audit?.subject == .fleet && plan.audit?.action == "announce")
        let details = plan.audit?.details.map { String(decoding: $0, as: UTF8.self) }
        #expect(details == #"{"type":"DRIVER_APPROVED","customer":"c7"}"#)
        let id = plan.notifications[0].id
        #expect(
            plan.responseText
                == #"{"success":true,"message":"Notification sent","data":{"notificationIds":["\#(id)"]},"correlationId":"c-1"}"#)
    }
}
