import CLinux
import JSON

/// A dispatcher assigns orders to drivers, in turn. Each driver is subscribed to the own channel with an own token,
/// confirms by answering pings, and accepts. In the end the dispatcher cancels the orders.
final class FleetScenario: Scenario {
    private let plan: BenchPlan
    private let credentials: BenchCredentials
    private let host: String
    private let run: String
    /// The drivers' tokens, created when they are first needed.
    private var tokens: [String?]
    /// What precedes an order's number in an event's data, in which quotes are escaped.
    private let codeStart: [UInt8]

    /// - Parameter run: a text that no other run has.
    init(_ plan: BenchPlan, _ credentials: BenchCredentials, host: String, run: String) {
        (self.plan, self.credentials, self.host, self.run) = (plan, credentials, host, run)
        tokens = Array(repeating: nil, count: plan.connections)
        codeStart = Array(#"bookingId\":\"bench-\#(run)-"#.utf8)
    }

    private func driver(_ number: Int) -> String { "bench-\(run)-\(number)" }

    /// The order of an event. It also has the driver's number, so that it shows in the gateway's lists.
    private func code(_ event: Int) -> String { "bench-\(run)-\(event)" }

    private func token(ofDriver number: Int) -> String {
        if let token = tokens[number] { return token }
        let token = credentials.driverToken(driver(number))
        tokens[number] = token
        return token
    }

    func channelName(_ channel: Int) -> String { "private-driver-\(driver(channel))" }

    func authorization(ofSubscriber channel: Int, socketID: String) -> Authorization {
        .request(
            RequestText.bytes(
                "POST", "/pusher/auth", host: host, token: token(ofDriver: channel), type: "application/x-www-form-urlencoded",
                body: Array("socket_id=\(socketID)&channel_name=\(channelName(channel))".utf8)))
    }

    func publish(_ event: Int) -> [UInt8] {
        let driver = driver(event % plan.connections)
        var json = JSONWriter()
        json.object {
            $0.member("driverId", driver)
            $0.member("driverName", driver)
            $0.member("pickupAddress", "load test")
            $0.member("dropoffAddress", "load test")
        }
        return RequestText.bytes(
            "POST", "/api/admin/orders/\(code(event))/assign-driver", host: host, token: credentials.adminToken, body: json.bytes)
    }

    func number(ofEvent name: JSONSlice, data: JSONSlice) -> Int? {
        guard name.equals("job-assigned"), let content = data.stringContent,
            let end = content.end(of: codeStart)
        else { return nil }
        return content[end...].leadingNumber
    }

    func accept(_ event: Int) -> [UInt8]? {
        RequestText.bytes(
            "POST", "/api/driver/jobs/\(code(event))/accept", host: host, token: token(ofDriver: event % plan.connections))
    }

    func end(_ event: Int) -> [UInt8]? {
        RequestText.bytes(
            "POST", "/api/admin/orders/\(code(event))/cancel-enhanced", host: host, token: credentials.adminToken,
            body: Array(#"{"reason":"load test"}"#.utf8))
    }

    var figures: [UInt8]? { RequestText.bytes("GET", "/metrics", host: host, token: credentials.adminToken) }

    /// How many `job-assigned` were confirmed since the gateway's start; nil if the metrics do not tell.
    static func confirmedCount(in metrics: [UInt8]) -> Int? {
        metrics.withUnsafeBytes { metrics in
            guard metrics.end(of: Array("# TYPE ".utf8)) != nil else { return nil }
            let sample = #"notifications_total{event="job-assigned",state="confirmed"} "#
            // Before the first confirmation, the metrics do not have it.
            return metrics.end(of: Array(sample.utf8)).map { metrics[$0...].leadingNumber } ?? 0
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The index behind the first occurrence of some bytes; nil if they do not occur.
    fileprivate func end(of part: [UInt8]) -> Int? {
        guard let baseAddress, let found = memmem(baseAddress, count, part, part.count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress + part.count
    }
}
