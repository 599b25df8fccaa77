import Access
import Fleet
import HTTP
import JSON
import Primitives
import PusherAPI
import Testing

/// The fields of orders, routes and progress reports in request bodies.
@Suite struct JSONBodyTests {
    /// The endpoints that read order and route fields.
    private static let orderCalls: [(method: HTTPRequest.Method, path: String, isUpdate: Bool)] =
        ["assign-driver", "unassign", "cancel-enhanced", "remove-driver"].map {
            (.post, "/api/admin/orders/A1/" + $0, false)
        } + [(.put, "/api/admin/orders/A1", true)]
    private static let routeCalls: [(method: HTTPRequest.Method, path: String, isUpdate: Bool)] =
        ["assign-driver", "unassign", "cancel", "drops/D1/remove"].map {
            (.post, "/api/admin/routes/R1/" + $0, false)
        } + [(.put, "/api/admin/routes/R1", true)]

    private static func call(
        _ call: (method: HTTPRequest.Method, path: String, isUpdate: Bool), _ field: String, _ value: String
    ) -> FleetCall {
        // The tested field comes last: the last of duplicate members counts.
        FleetCall(call.method, call.path, #"{"driverId":"42","\#(field)":\#(value)}"#)
    }

    private static let names = ["bookingId", "bookingReference", "customerId", "driverId"]
    private static let texts = ["customerName", "pickupAddress", "dropoffAddress", "driverName", "reason"]
    /// Fields that a PUT ignores.
    private static let ignoredByUpdates: Set = ["driverId", "driverName", "reason"]

    // MARK: Kinds

    @Test(arguments: names + texts + ["scheduledAt"]) func stringFieldsOfOrdersRejectOtherKinds(field: String) {
        for call in Self.orderCalls {
            let isIgnored = call.isUpdate && Self.ignoredByUpdates.contains(field)
            // The id of a driver may be a whole number.
            for value in (field == "driverId" ? [] : ["1"]) + ["true", "[]", "{}", #"["x"]"#] {
                let refusal = Self.call(call, field, value).refusal
                #expect(refusal == (isIgnored ? nil : "400 Expected \"\(field)\" to be a string"), "\(call.path) \(value)")
            }
        }
    }

    @Test(arguments: ["routeNumber", "driverName", "reason", "driverId"]) func stringFieldsOfRoutesRejectOtherKinds(field: String)
    {
        for call in Self.routeCalls {
            let isIgnored = call.isUpdate && Self.ignoredByUpdates.contains(field)
            for value in (field == "driverId" ? [] : ["1"]) + ["false", "[]", "{}"] {
                let refusal = Self.call(call, field, value).refusal
                #expect(refusal == (isIgnored ? nil : "400 Expected \"\(field)\" to be a string"), "\(call.path) \(value)")
            }
        }
    }

    /// Unknown members are ignored, but not any number of them.
    @Test func limitsTheNumberOfMembers() {
        let members = { (count: Int) in "{" + (1..<count).map { "\"x\($0)\":1," }.joined() + #""customerName":"Ann"}"# }
        let call = { FleetCall(.put, "/api/admin/orders/A1", members($0)) }
        #expect(call(256).refusal == nil)
        #expect(call(257).refusal == "400 Expected an object with at most 256 members; found 257")
    }

    @Test func numberFieldsRejectOtherKinds() {
        for value in [#""1""#, "true", "[1]", "{}", #""""#] {
            for call in Self.orderCalls {
                #expect(Self.call(call, "totalGBP", value).refusal == "400 Expected \"totalGBP\" to be a number")
            }
            for call in Self.routeCalls {
                let adjustment = Self.call(call, "earningsAdjustment", value)
                #expect(adjustment.refusal == "400 Expected \"earningsAdjustment\" to be a number")
                for field in ["bookingsCount", "dropsCount"] {
                    #expect(Self.call(call, field, value).refusal == "400 Expected \"\(field)\" to be an integer of at least 0")
                }
            }
        }
    }

    @Test(arguments: ["-1", "0.5", "1.0", "1e2", "9223372036854775808", "1e999999999999999999999"])
    func rejectsCountsThatAreNotIntegersOfAtLeastZero(value: String) {
        for field in ["bookingsCount", "dropsCount"] {
            // The last call is `PUT /api/admin/routes/R1`.
            let call = Self.call(Self.routeCalls[4], field, value)
            #expect(call.refusal == "400 Expected \"\(field)\" to be an integer of at least 0")
        }
    }

    // MARK: Names

    private static let badNames = [
        "", "a b", "a/b", "a:b", "a#b", "a*", "é", "e\u{301}", "\u{212A}", "\u{37E}", "日", "😀", #"a\n"#, #"\u0000"#, #"\""#,
        #"\ud800"#, "a ", " a", String(repeating: "x", count: 151), String(repeating: "é", count: 150),
    ]

    @Test(arguments: names) func rejectsNamesThatCannotBePartOfAChannelName(field: String) {
        for name in Self.badNames {
            for call in Self.orderCalls.dropLast() {
                let refusal = Self.call(call, field, "\"\(name)\"").refusal
                let expected = "400 Expected \"\(field)\" to be 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ; (found "
                #expect(refusal?.hasPrefix(expected) == true, "\(call.path) \(name)")
            }
        }
    }

    static let goodNames = ["1", "Az09_-=@,.;", "K", String(repeating: "x", count: 150), "-", "...", "null"]

    @Test(arguments: goodNames) func acceptsNamesThatCanBePartOfAChannelName(name: String) {
        var changes = OrderChanges()
        changes.bookingID = .set(name)
        changes.bookingReference = .set(name)
        changes.customerID = .set(name)
        var action = OrderAction(code: name, .assign(.init(id: Identifier(name))))
        action.changes = changes
        let body = #"{"bookingId":"\#(name)","bookingReference":"\#(name)","customerId":"\#(name)","driverId":"\#(name)"}"#
        #expect(FleetCall(.post, "/api/admin/orders/\(name)/assign-driver", body).action == .order(action))
    }

    /// A path, and the name of its variable segment in errors.
    private static let named: [(HTTPRequest.Method, String, String)] = [
        (.get, "/api/admin/orders/*", "code"), (.put, "/api/admin/orders/*", "code"),
        (.post, "/api/admin/orders/*/unassign", "code"), (.get, "/api/admin/routes/*", "routeId"),
        (.put, "/api/admin/routes/*", "routeId"), (.post, "/api/admin/routes/*/cancel", "routeId"),
        (.post, "/api/admin/routes/*/drops/1/remove", "routeId"), (.post, "/api/admin/routes/1/drops/*/remove", "dropId"),
        (.post, "/api/driver/jobs/*/accept", "id"), (.post, "/api/driver/routes/*/accept", "id"),
        (.put, "/api/driver/jobs/*/progress", "id"),
    ]

    @Test(arguments: named) func checksNamesInPaths(method: HTTPRequest.Method, path: String, field: String) {
        let role: Role = path.hasPrefix("/api/driver") ? .driver : .admin
        for name in [
            "", "a b", "é", "\u{212A}", "a\u{1}", String(repeating: "x", count: 151), String(repeating: "x", count: 6_999),
        ] {
            let path = path.replacing("*", with: name)
            let refusal = FleetCall(method, path, #"{"step":"arrived"}"#, as: role).refusal
            #expect(refusal?.hasPrefix("400 Expected \"\(field)\" to be 1 to 150 characters of") == true, "\(path)")
            #expect((refusal?.utf8.count ?? 0) < 400, "the error truncates the name")
        }
        let longest = path.replacing("*", with: String(repeating: "x", count: 150))
        #expect(FleetCall(method, longest, #"{"step":"arrived"}"#, as: role).status() == nil)
    }

    // MARK: Times

    @Test(arguments: [
        "tomorrow", "", "2026-02-30", "2026-11-21 09:30", "1700000000", "2026-11-21T25:00Z", "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01 noon",
    ])
    func rejectsInvalidTimes(text: String) {
        for call in Self.orderCalls {
            let expected = "400 Expected \"scheduledAt\" to be a time in ISO 8601, such as 2026-11-21T09:30:00Z"
            #expect(Self.call(call, "scheduledAt", "\"\(text)\"").refusal == expected)
        }
    }

    @Test(arguments: ["2026-11-21", "2026-11-21T09:30:00Z", "2026-11-21T09:30:00.123+01:00"]) func keepsTimesAsSent(
        text: String
    ) {
        for call in Self.orderCalls {
            let action = Self.call(call, "scheduledAt", "\"\(text)\"").action
            if case .order(let action) = action { #expect(action.changes.scheduledAt == .set(text)) } else { Issue.record() }
        }
    }

    // MARK: Values

    @Test(arguments: ["0", "-0", "12.50", "1E2", "-1e-7", "123456789012345678901234567890.10"])
    func keepsNumbersAsSent(number: String) {
        var changes = OrderChanges()
        changes.totalGBP = .set(JSONNumber(text: number))
        var order = OrderAction(code: "A1", .update)
        order.changes = changes
        #expect(FleetCall(.put, "/api/admin/orders/A1", #"{"totalGBP": \#(number) }"#).action == .order(order))
        var route = RouteAction(id: "R1", .update)
        route.changes.earningsAdjustment = .set(JSONNumber(text: number))
        #expect(FleetCall(.put, "/api/admin/routes/R1", #"{"earningsAdjustment":\#(number)}"#).action == .route(route))
    }

    /// The apps decode a number as Double. A number beyond its range would make them reject the whole event.
    @Test(arguments: ["1e400", "-1e400", "1e999999999999999999999"]) func rejectsNumbersBeyondDouble(number: String) {
        let call = FleetCall(.put, "/api/admin/orders/A1", #"{"totalGBP":\#(number)}"#)
        #expect(call.refusal == "400 Expected \"totalGBP\" to be a number")
    }

    @Test(arguments: ["0", "-0", "7", "9223372036854775807"]) func keepsCountsAsSent(number: String) {
        var route = RouteAction(id: "R1", .update)
        route.changes.bookingsCount = .set(JSONNumber(text: number))
        route.changes.dropsCount = .set(JSONNumber(text: number))
        let body = #"{"bookingsCount":\#(number),"dropsCount":\#(number)}"#
        #expect(FleetCall(.put, "/api/admin/routes/R1", body).action == .route(route))
    }

    @Test func absentMembersChangeNothingAndNullClears() {
        let body = """
            {"bookingId":null,"bookingReference":null,"customerId":null,"customerName":null,"pickupAddress":null,
            "dropoffAddress":null,"scheduledAt":null,"totalGBP":null,"driverName":null,"reason":null}
            """
        var changes = OrderChanges()
        for path in [\OrderChanges.bookingID, \.bookingReference, \.customerID, \.customerName, \.pickupAddress] {
            changes[keyPath: path] = .clear
        }
        changes.dropoffAddress = .clear
        changes.scheduledAt = .clear
        changes.totalGBP = .clear
        var action = OrderAction(code: "A1", .unassign)
        action.changes = changes
        #expect(FleetCall(.post, "/api/admin/orders/A1/unassign", body).action == .order(action))
        #expect(
            FleetCall(.post, "/api/admin/orders/A1/unassign", "{}").action == .order(OrderAction(code: "A1", .unassign)))
        let nulls = #"{"routeNumber":null,"bookingsCount":null,"dropsCount":null,"earningsAdjustment":null,"driverId":null}"#
        var route = RouteAction(id: "R1", .cancel)
        route.changes.routeNumber = .clear
        route.changes.bookingsCount = .clear
        route.changes.dropsCount = .clear
        route.changes.earningsAdjustment = .clear
        #expect(FleetCall(.post, "/api/admin/routes/R1/cancel", nulls).action == .route(route))
    }

    @Test func decodesTextsOfAnOrder() {
        let body = #"""
            {"driverId":"42","driverName":"D\u00e4n \ud83d\ude00","reason":"a\u0001b\n","customerName":"","pickupAddress":"1 \/ 2",
            "dropoffAddress":"\ud800","driverId":"43"}
            """#
        var action = OrderAction(code: "A1", .assign(.init(id: Identifier("43"), name: "Dän 😀")))
        action.reason = "a\u{1}b\n"
        action.changes.customerName = .set("")
        action.changes.pickupAddress = .set("1 / 2")
        action.changes.dropoffAddress = .set("\u{FFFD}")
        #expect(FleetCall(.post, "/api/admin/orders/A1/assign-driver", body).action == .order(action))
    }

    @Test(arguments: texts + ["scheduledAt", "idempotencyKey"]) func rejectsNUL(field: String) {
        for value in [#""\u0000""#, #""a\u0000b""#] {
            let refusal = Self.call(Self.orderCalls[0], field, value).refusal
            #expect(refusal == "400 Expected \"\(field)\" to contain no NUL character")
        }
    }

    /// Only ``DispatchPlanner`` limits the length of texts, through the size of events.
    @Test func doesNotLimitTexts() {
        let text = String(repeating: "é", count: 30_000)
        var action = OrderAction(code: "A1", .cancel)
        action.reason = text
        #expect(FleetCall(.post, "/api/admin/orders/A1/cancel-enhanced", #"{"reason":"\#(text)"}"#).action == .order(action))
    }

    @Test func updateIgnoresStatusAndDriver() {
        let body = #"{"status":5,"driverId":[],"driverName":{},"reason":1,"version":"x","bookingId":"B"}"#
        var action = OrderAction(code: "A1", .update)
        action.changes.bookingID = .set("B")
        #expect(FleetCall(.put, "/api/admin/orders/A1", body).action == .order(action))
        #expect(FleetCall(.put, "/api/admin/routes/A1", body).action == .route(RouteAction(id: "A1", .update)))
    }

    @Test(arguments: ["", "{}", #"{"driverId":null}"#, #"{"driverID":"42"}"#]) func assignmentRequiresADriver(body: String) {
        for path in ["/api/admin/orders/A1/assign-driver", "/api/admin/routes/R1/assign-driver"] {
            #expect(FleetCall(.post, path, body).refusal == "400 Expected \"driverId\": a string is required")
        }
    }

    // MARK: Progress

    private func progress(_ body: String) -> FleetCall { FleetCall(.put, "/api/driver/jobs/A1/progress", body, as: .driver) }

    @Test func readsEveryStep() {
        for step in JobStatus.allCases {
            #expect(progress(#"{"step":"\#(step.rawValue)"}"#).action == .progress("A1", ProgressReport(step: step)))
        }
    }

    @Test(arguments: ["Arrived", "EnRoute", "en-route", "", "arrived ", "arri\u{301}ved"]) func rejectsUnknownSteps(step: String)
    {
        let steps = "available, assigned, accepted, en_route, arrived, loading, in_transit, unloading, completed, cancelled"
        #expect(progress(#"{"step":"\#(step)"}"#).refusal == "400 Expected \"step\" to be one of \(steps); found \(step)")
    }

    private static let badProgress = [
        ("", "\"step\": a string is required"), ("{}", "\"step\": a string is required"),
        (#"{"step":null}"#, "\"step\": a string is required"), (#"{"step":1}"#, "\"step\" to be a string"),
        (#"{"step":"arrived","notes":1}"#, "\"notes\" to be a string"),
        (#"{"step":"arrived","latitude":"1"}"#, "\"latitude\" to be a number"),
        (#"{"step":"arrived","longitude":[]}"#, "\"longitude\" to be a number"),
    ]

    @Test(arguments: badProgress) func rejectsInvalidProgress(body: String, problem: String) {
        #expect(progress(body).refusal == "400 Expected " + problem)
    }

    @Test(arguments: [("latitude", "90"), ("longitude", "180")]) func limitsLatitudeAndLongitude(field: String, most: String) {
        for value in [most, "-" + most, most + ".0", "0", "-0", "1e-999999", "0.1e1", "51.5"] {
            guard case .progress(_, let report) = progress(#"{"step":"arrived","notes":"n","\#(field)":\#(value)}"#).action else {
                Issue.record("\(value)")
                continue
            }
            #expect((field == "latitude" ? report.latitude : report.longitude) == JSONNumber(text: value) && report.notes == "n")
        }
        for value in [most + ".0001", "-" + most + ".0001", "1e3", "1000"] {
            let refusal = progress(#"{"step":"arrived","\#(field)":\#(value)}"#).refusal
            #expect(refusal == "400 Expected \"\(field)\" to be from -\(most) to \(most)", "\(value)")
        }
        #expect(progress(#"{"step":"arrived","\#(field)":null}"#).action == .progress("A1", ProgressReport(step: .arrived)))
    }
}
