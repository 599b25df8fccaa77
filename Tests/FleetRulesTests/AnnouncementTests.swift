import Fleet
import Testing

@Suite struct AnnouncementTests {
    private func announce(
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
    func publishesTheTypeInKebabCase(_ type: String, _ event: String) throws {
        #expect(try announce(type, .everyDriver).published == ["drivers-channel \(event)"])
    }

    @Test func publishesToEachRecipientsChannelOnce() throws {
        #expect(try announce("X", .drivers(["2", "1", "2", "10"])).published == ["driver-2 x", "driver-1 x", "driver-10 x"])
        #expect(try announce("X", .customer("c7")).published == ["customer-c7 x"])
        let error = ruleError { () throws(RuleError) in try announce("X", .drivers([])) }
        #expect(error?.kind == .invalid && error?.text == #"Expected "to.drivers" to contain at least one driver id"#)
    }

    /// Backends whose JSON libraries escape all but ASCII have as much room as others.
    @Test(arguments: ["👨‍👩‍👧‍👦", #"\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67\u200d\ud83d\udc66"#])
    func dataIsMeasuredDecoded(family: String) throws {
        // Each family has 25 bytes. Names, ids and brackets are the rest.
        let data = { (count: Int) in #"{"a":"\#(String(repeating: family, count: count))"}"# }
        #expect(try announce("X", .everyDriver, data(400)).notifications.count == 1)
        let error = ruleError { () throws(RuleError) in try announce("X", .everyDriver, data(410)) }
        #expect(error?.text == #"Field "data" is too long: event x would exceed 10240 bytes"#)
    }

    /// Each row: the data of the request, and the members that the event keeps: all except `notificationId` and
    /// `correlationId`, whose values the gateway sets.
    @Test(arguments: [
        ("{}", ""), (#" { "a" : 1.50 , "b":"\u0041\/" } "#, #""a":1.50,"b":"\u0041\/","#),
        (#"{"notificationId":1,"correlationId":{"a":[]}}"#, ""),
        (#"{"x":{"notificationId":1, "y":2},"not\u0069ficationId":1}"#, #""x":{"notificationId":1, "y":2},"#),
        (#"{"a":1,"a":2,"notificationID":3}"#, #""a":1,"a":2,"notificationID":3,"#),
    ])
    func publishesDataWithTheGatewaysIDs(_ data: String, _ members: String) throws {
        let notification = try announce("X", .everyDriver, data).notifications[0]
        #expect(notification.text == #"{\#(members)"notificationId":"\#(notification.id)","correlationId":"c-1"}"#)
    }

    /// Apps compute from the timestamp how long the driver has waited.
    @Test(arguments: [
        ("{}", #""timestamp":"2026-11-21T09:30:00Z","#),
        (#"{"timestamp":null,"x":1}"#, #""x":1,"timestamp":"2026-11-21T09:30:00Z","#),
        (#"{"timestamp":"mine"}"#, #""timestamp":"mine","#),
        (#"{"timestamp":1,"timestamp":2}"#, #""timestamp":1,"timestamp":2,"#),
    ])
    func addsATimestampToADriversArrival(_ data: String, _ members: String) throws {
        for type in ["driver_arrival", "driver-arrival"] {
            let notification = try announce(type, .customer("c7"), data).notifications[0]
            #expect(notification.text == #"{\#(members)"notificationId":"\#(notification.id)","correlationId":"c-1"}"#)
        }
        #expect(try !announce("DRIVER_APPROVED", .customer("c7"), data).notifications[0].text.contains("09:30:00"))
    }

    @Test(arguments: ["", "[]", "1", "{", #"{"a":}"#, "null", #"{"a":1} x"#])
    func rejectsDataThatIsNotAnObject(_ data: String) {
        let error = ruleError { () throws(RuleError) in try announce("X", .everyDriver, data) }
        #expect(error?.kind == .invalid && error?.text == #"Expected "data" to be an object"#)
    }

    /// Each row: the data of the request, and the members of the event.
    @Test(arguments: [
        ("{}", #""action":"go","note":"é\"","#), (#"{"a":1}"#, #""a":1,"action":"go","note":"é\"","#),
        (#"{"action":"stay"}"#, #""action":"stay","note":"é\"","#), (#"{"action":null}"#, #""action":null,"note":"é\"","#),
        (#"{"\u0061ction":7,"b":{"note":1}}"#, #""\u0061ction":7,"b":{"note":1},"note":"é\"","#),
    ])
    func addsTheRulesDataUnlessItWasSent(_ data: String, _ members: String) throws {
        let rule = NotificationRules.Rule(
            lifetimeSeconds: 60, collapsesByJob: false, data: [.init("action", "go"), .init("note", "é\"")])
        let notification = try announce("X", .everyDriver, data, rules: NotificationRules(rules: ["X": rule])).notifications[0]
        #expect(notification.text == #"{\#(members)"notificationId":"\#(notification.id)","correlationId":"c-1"}"#)
    }

    @Test func rulesDataCountsAgainstTheSizeOfAnEvent() throws {
        func announce(bytesMax: Int) throws(RuleError) -> DispatchPlan {
            let rule = NotificationRules.Rule(lifetimeSeconds: 60, collapsesByJob: false, data: [.init("action", "go")])
            return try self.announce("X", .everyDriver, rules: NotificationRules(rules: ["X": rule], eventBytesMax: bytesMax))
        }
        let size = try announce(bytesMax: 10_240).notifications[0].data.count
        #expect(try announce(bytesMax: size).notifications[0].data.count == size)
        #expect(ruleError { () throws(RuleError) in try announce(bytesMax: size - 1) }?.kind == .invalid)
    }

    @Test func rejectsTooLargeData() throws {
        let filler = String(repeating: "x", count: 200)
        let fits = try announce("X", .everyDriver, #"{"a":"\#(filler)"}"#).notifications[0].data.count
        let exact = try announce("X", .everyDriver, #"{"a":"\#(filler)"}"#, rules: NotificationRules(eventBytesMax: fits))
        #expect(exact.notifications.count == 1)
        let error = ruleError { () throws(RuleError) in
            try announce("X", .drivers(["1"]), #"{"a":"\#(filler)"}"#, rules: NotificationRules(eventBytesMax: fits - 1))
        }
        #expect(error == RuleError(.fieldTooLong, "data", "x", "\(fits - 1)"))
    }

    @Test func changesNoOrderAndNoRoute() throws {
        let plan = try announce("DRIVER_APPROVED", .customer("c7"))
        #expect(plan.order == nil && plan.route == nil)
        #expect(plan.audit?.subject == .fleet && plan.audit?.action == "announce")
        #expect(plan.audit?.detailsText == #"{"type":"DRIVER_APPROVED","customer":"c7"}"#)
        let id = plan.notifications[0].id
        #expect(
            plan.responseText
                == #"{"success":true,"message":"Notification sent","data":{"notificationIds":["\#(id)"]},"correlationId":"c-1"}"#)
    }
}
