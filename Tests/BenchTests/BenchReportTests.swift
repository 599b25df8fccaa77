import JSON
import Testing

@testable import Bench

@Suite struct BenchReportTests {
    /// A run without faults: 100 events, each for 10 subscribers.
    private func perfect() -> BenchReport {
        var plan = BenchPlan()
        plan.connections = 10
        var report = BenchReport(plan: plan, target: "ws://127.0.0.1:6001")
        report.connects.done = 10
        report.publishes.sent = 100
        report.publishes.done = 100
        report.deliveries.expected = 1_000
        report.deliveries.received = 1_000
        for _ in 0..<1_000 { report.deliveries.latency.record(1_500_000) }
        report.seconds = 10
        return report
    }

    @Test func aRunWithoutFaultsPasses() {
        #expect(perfect().problems == [])
        #expect(perfect().table.hasSuffix("\n\nverdict: pass\n"))
    }

    /// What goes wrong, and the problem that the report has.
    struct Fault: Sendable {
        let problem: String
        let happen: @Sendable (inout BenchReport) -> Void

        init(_ problem: String, _ happen: @escaping @Sendable (inout BenchReport) -> Void) {
            (self.problem, self.happen) = (problem, happen)
        }
    }

    @Test(arguments: [
        Fault("interrupted") { $0.isInterrupted = true },
        Fault("2 of 10 connections failed: status 503") { $0.connects.failures = ["status 503": 2] },
        Fault("4 of 10 connections failed: status 503 (2), a (1), timed out (1)") {
            $0.connects.failures = ["timed out": 1, "status 503": 2, "a": 1]
        },
        Fault("1 connections were closed during the run: close code 4200") { $0.closed = ["close code 4200": 1] },
        Fault("3 publishes failed: status 503") { $0.publishes.failures = ["status 503": 3] },
        Fault("10 publishes could not be sent in time") { $0.publishes.sent = 90 },
        Fault("2 of 1,000 deliveries were lost") { $0.deliveries.received = 998 },
        Fault("1 deliveries were duplicates") { $0.deliveries.duplicated = 1 },
        Fault("4 deliveries were out of order") { $0.deliveries.outOfOrder = 4 },
        Fault("5 deliveries reached the wrong subscriber") { $0.deliveries.misrouted = 5 },
        Fault("1 accepts failed: status 409") { $0.accepts.failures = ["status 409": 1] },
        Fault("100 received notifications were not confirmed") { $0.confirmed = 900 },
        Fault("the p99 of the delivery latency, 1.50 ms, is above 1 ms") { $0.plan.p99MillisecondsMax = 1 },
        Fault("nothing was delivered") { $0.deliveries = .init() },
    ])
    func eachFaultFailsTheRun(fault: Fault) {
        var report = perfect()
        fault.happen(&report)
        #expect(report.problems == [fault.problem])
        #expect(report.table.hasSuffix("\nverdict: fail\n  \(fault.problem)\n"))
    }

    @Test func aP99AtTheLimitPasses() {
        var report = perfect()
        report.plan.p99MillisecondsMax = 2
        #expect(report.problems == [])
    }

    @Test func theTableShowsCountsRatesAndPercentiles() {
        let lines = perfect().table.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0] == "fanout at ws://127.0.0.1:6001: 10 of 10 connections, 1 channel")
        #expect(lines[5] == "deliveries      1,000        100    1.50 ms    1.50 ms    1.50 ms    1.50 ms    1.50 ms")
        #expect(lines.contains("deliveries: 1,000 expected, 0 lost, 0 duplicated, 0 out of order, 0 misrouted, 0 B received"))
    }

    @Test func theJSONHasTheVerdict() throws {
        var report = perfect()
        report.deliveries.received = 999
        var members: [String: String] = [:]
        try report.json.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { members[$0.string ?? ""] = String(decoding: $1.raw, as: UTF8.self) }
        }
        #expect(members["pass"] == "false")
        #expect(members["problems"] == #"["1 of 1,000 deliveries were lost"]"#)
        #expect(members["deliveries"]?.contains(#""p99":1500,"p99.9":1500,"max":1500"#) == true)
        #expect(members["confirmed"] == nil, "only fleet has confirmations")
    }

    @Test func theLinesShowHowFarTheRunIs() {
        var report = perfect()
        report.connects.done = 4
        report.connects.failures = ["timed out": 1]
        #expect(report.connectingLine == "connecting [###############...............] 5 of 10, 1 failed")
        var earlier = report
        earlier.publishes.done = 90
        earlier.deliveries.received = 900
        #expect(
            report.publishingLine(since: earlier, elapsed: 3.4)
                == "3 of 10 s: 10 publishes/s, 100 deliveries/s, p99 1.50 ms, 0 failed")
    }
}

@Suite struct GatewayAddressTests {
    @Test(arguments: [
        ("ws://127.0.0.1:6001", "127.0.0.1", 6001, "127.0.0.1:6001", false),
        ("http://10.0.0.1/", "10.0.0.1", 80, "10.0.0.1", false),
        ("wss://[::1]", "::1", 443, "[::1]", true), ("https://[fd00::7]:8443", "fd00::7", 8_443, "[fd00::7]:8443", true),
        ("ws://0.0.0.0:1", "0.0.0.0", 1, "0.0.0.0:1", false),
    ])
    func readsURLs(url: String, host: String, port: UInt16, authority: String, usesTLS: Bool) throws {
        let address = try GatewayAddress(url)
        #expect(address.host == host && address.port == port && address.authority == authority && address.usesTLS == usesTLS)
        #expect(address.isPrivate)
    }

    @Test(arguments: ["ws://8.8.8.8", "ws://[2001:db8::1]:6001", "ws://172.32.0.1"])
    func knowsPublicAddresses(url: String) throws { #expect(try !GatewayAddress(url).isPrivate) }

    @Test(arguments: [
        "", "127.0.0.1", "ftp://127.0.0.1", "ws://", "ws://:1", "ws://a:0", "ws://a:65536", "ws://a/path", "ws://u@a",
        "ws://[::1",
    ])
    func refusesOtherTexts(url: String) { #expect(throws: GatewayAddress.Failure.self) { try GatewayAddress(url) } }
}

@Suite struct ScenarioTests {
    private let credentials = BenchCredentials(
        appID: "1", appKey: "key", appSecret: "secret", adminToken: "admin", driverToken: { "token of \($0)" })

    private func number(_ scenario: some Scenario, _ name: String, _ data: String) throws -> Int? {
        var json = JSONWriter()
        json.string(name)
        var content = JSONWriter()
        content.string(data)
        return try json.bytes.withUnsafeBytes { name in
            try content.bytes.withUnsafeBytes { data in
                scenario.number(ofEvent: try JSONReader.value(name), data: try JSONReader.value(data))
            }
        }
    }

    @Test func fanoutPublishesItsNumberAndFindsIt() throws {
        var plan = BenchPlan()
        plan.channels = 3
        plan.eventBytes = 20
        let scenario = FanoutScenario(plan, credentials, host: "h", run: "r")
        let request = String(decoding: scenario.publish(7), as: UTF8.self)
        #expect(request.hasPrefix("POST /apps/1/events?auth_key=key&auth_timestamp="))
        #expect(request.hasSuffix(#"{"name":"bench","channel":"private-bench-r-1","data":"7 xxxxxxxxxxxxxxxxxx"}"#))
        #expect(try number(scenario, "bench", "7 xx") == 7)
        #expect(try number(scenario, "bench", "x") == nil)
        #expect(try number(scenario, "other", "7 xx") == nil)
    }

    @Test func fleetFindsTheNumberOfTheOrder() throws {
        var plan = BenchPlan()
        plan.scenario = .fleet
        let scenario = FleetScenario(plan, credentials, host: "h", run: "r")
        #expect(try number(scenario, "job-assigned", #"{"bookingId":"bench-r-120","x":1}"#) == 120)
        #expect(try number(scenario, "job-assigned", #"{"bookingId":"bench-s-120"}"#) == nil)
        #expect(try number(scenario, "job-cancelled", #"{"bookingId":"bench-r-120"}"#) == nil)
        let accept = String(decoding: scenario.accept(105) ?? [], as: UTF8.self)
        #expect(accept.hasPrefix("POST /api/driver/jobs/bench-r-105/accept HTTP/1.1\r\n"))
        #expect(accept.contains("Authorization: Bearer token of bench-r-5\r\n"))
    }

    @Test func readsConfirmationsFromMetrics() {
        let type = "# TYPE a_notifications_total counter\n"
        let sample = #"a_notifications_total{event="job-assigned",state="confirmed"} 42"# + "\n"
        #expect(FleetScenario.confirmedCount(in: Array((type + sample).utf8)) == 42)
        #expect(FleetScenario.confirmedCount(in: Array(type.utf8)) == 0)
        #expect(FleetScenario.confirmedCount(in: Array("forbidden".utf8)) == nil)
    }
}
