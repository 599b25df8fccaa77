import HTTP
import HTTPAPI
import Testing

/// A request that waits is asked again as it came.
@Suite struct DeferredRequestTests {
    private func held(_ call: FleetCall) -> DeferredRequest { call.withRequest { DeferredRequest($0) } }

    /// With every header field there is, read while its bytes are there.
    private var whole: FleetCall {
        var call = FleetCall(.put, "/api/admin/orders/A1", #"{"reason":"é\u0000"}"#)
        for (index, field) in HTTPRequest.Field.allCases.enumerated() { call.fields[field] = "value \(index)" }
        call.query = [("a", "1"), ("b", ""), ("a", "2")]
        call.isLoopback = true
        return call
    }

    private func isEqual(_ one: HTTPRequest, _ other: HTTPRequest) -> Bool {
        one.method == other.method && one.path == other.path && one.query.elementsEqual(other.query, by: ==)
            && HTTPRequest.Field.allCases.allSatisfy { one.field($0) == other.field($0) }
            && one.correlationID == other.correlationID && one.isLoopback == other.isLoopback
            && Array(one.body) == Array(other.body) && one.isLengthMissing == other.isLengthMissing
            && one.bodyBytesMax == other.bodyBytesMax
    }

    @Test func keepsAllOfIt() {
        var empty = FleetCall(.get, "", as: nil)
        var unread = whole
        unread.bodyBytesMax = 7
        unread.isLoopback = false
        unread.body = []
        empty.isLengthMissing = true
        empty.query = []
        for call in [whole, empty, unread] {
            let held = held(call)
            for _ in 0..<2 {
                #expect(call.withRequest { request in held.withRequest { isEqual($0, request) } })
            }
        }
    }

    @Test func comesToTheSame() {
        let call = FleetCall(.post, "/api/admin/orders/A1/cancel-enhanced", #"{"reason":"x"}"#).with(.idempotencyKey, "k")
        let outcome = held(call).withRequest { FleetCall.router().action(of: $0, now: Call.now) }
        guard case .command(let command) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(command == call.command)
    }
}
