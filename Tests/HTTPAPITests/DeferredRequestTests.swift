import HTTP
import HTTPAPI
import Testing

/// A deferred request waits for an issuer's keys. It is equal to the original request, and is routed in the same way.
@Suite struct DeferredRequestTests {
    private func deferred(_ call: FleetCall) -> DeferredRequest { call.withRequest { DeferredRequest($0) } }

    /// A request with all header fields, a query and a body.
    private var complete: FleetCall {
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
            && one.exceededBodyLimit == other.exceededBodyLimit
    }

    @Test func copiesEveryField() {
        var empty = FleetCall(.get, "", as: nil)
        var unread = complete
        unread.exceededBodyLimit = 7
        unread.isLoopback = false
        unread.body = []
        empty.isLengthMissing = true
        empty.query = []
        for call in [complete, empty, unread] {
            let deferred = deferred(call)
            for _ in 0..<2 {
                #expect(call.withRequest { request in deferred.withRequest { isEqual($0, request) } })
            }
        }
    }

    @Test func routesLikeTheOriginal() {
        let call = FleetCall(.post, "/api/admin/orders/A1/cancel-enhanced", #"{"reason":"x"}"#).with(.idempotencyKey, "k")
        let apiAction = deferred(call).withRequest { FleetCall.router().action(of: $0, now: Call.now) }
        guard case .command(let command) = apiAction else {
            Issue.record("\(apiAction)")
            return
        }
        #expect(command == call.command)
    }
}
