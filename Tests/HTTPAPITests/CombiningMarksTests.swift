import Fleet
import HTTP
import PusherAPI
import Testing

/// Swift compares and hashes strings by canonical equivalence, in time quadratic in a character's combining marks. With
/// as many marks as a body may contain, one comparison takes minutes. Each test sends such strings in certain parts of
/// a request, and exceeds the time limit if the router compares or hashes them as strings.
@Suite(.timeLimit(.minutes(5))) struct CombiningMarksTests {
    private static func marks(_ count: Int = 150_000) -> String { String(repeating: "\u{301}\u{316}", count: count / 2) }

    @Test func isFastWithMarksInMemberNames() {
        let body = #"{"\#(Self.marks())":1,"a\#(Self.marks())":{"driverId\#(Self.marks())":1},"driverId":"42"}"#
        #expect(FleetCall(.post, "/api/admin/orders/A1/assign-driver", body).with(.idempotencyKey, "k").unlimitedStatus == nil)
    }

    @Test func isFastWithMarksInEnumeratedValues() {
        let driver = { FleetCall(.post, "/api/driver/notifications/log", $0, as: .driver) }
        for head in ["", "a", "n", "r", "D"] {
            let text = "\"\(head)\(Self.marks())\""
            #expect(FleetCall(.put, "/api/driver/jobs/A1/progress", #"{"step":\#(text)}"#, as: .driver).unlimitedStatus == 400)
            #expect(driver(FleetTelemetryTests.event(["type": text])).unlimitedStatus == 400)
            #expect(driver(FleetTelemetryTests.event(["event": text])).unlimitedStatus == 400)
            #expect(FleetCall(.post, "/api/admin/notifications", #"{"type":\#(text),"to":{"all":true}}"#).unlimitedStatus == 400)
        }
    }

    @Test func isFastWithMarksInDevicesAndPreferences() {
        let preferences = { FleetCall(.put, "/api/driver/preferences", $0, as: .driver) }
        let device = { FleetCall(.post, "/app-register-device", $0, as: .driver) }
        for head in ["", "a0", "ios", "22:00"] {
            let text = head + Self.marks()
            #expect(FleetCall(.post, "/api/auth/fcm-token", #"{"fcmToken":"\#(text)"}"#, as: .driver).unlimitedStatus == 400)
            #expect(FleetCall(.delete, "/api/auth/fcm-token", as: .driver).withQuery("fcmToken", text).unlimitedStatus == 400)
            #expect(
                FleetCall(.delete, "/app-register-device", #"{"deviceToken":"\#(text)"}"#, as: .driver).unlimitedStatus == 400)
            for field in ["deviceToken", "platform", "environment", "deviceId"] {
                #expect(device(#"{"deviceToken":"t","platform":"android","\#(field)":"\#(text)"}"#).unlimitedStatus == 400)
            }
            #expect(preferences(#"{"types":{"\#(text)":true,"\#(text)":false}}"#).unlimitedStatus == 400)
            for field in ["from", "to", "timeZone"] {
                #expect(preferences(#"{"quietHours":{"\#(field)":"\#(text)"}}"#).unlimitedStatus == 400)
            }
            #expect(FleetCall(.delete, "/api/admin/people/driver/" + text).unlimitedStatus == 400)
            #expect(FleetCall(.delete, "/api/admin/people/\(text)/1").unlimitedStatus == 404)
        }
    }

    @Test func isFastWithMarksAndWhiteSpaceInNames() {
        let spaces = String(repeating: "\u{2003}", count: 150_000)
        for field in ["name", "phoneNumber"] {
            let card = { (text: String) in
                FleetCall(.put, "/api/admin/drivers/42", #"{"\#(field)":"\#(text)"}"#).unlimitedStatus
            }
            for text in [Self.marks(), "a" + Self.marks(), spaces + Self.marks() + spaces] { #expect(card(text) == 400) }
            #expect(card(spaces + "a" + spaces) == (field == "name" ? nil : 400))
        }
        let order = FleetCall(.put, "/api/admin/orders/A1", #"{"customerName":"\#(spaces)\#(Self.marks())\#(spaces)"}"#)
        #expect(order.unlimitedStatus == nil)
    }

    @Test func isFastWithMarksInSocketIDsAndChannels() {
        for head in ["", "1", "1.2", ".", "#", "p", "private-", "#server-to-user-"] {
            for body in [
                #"{"socket_id":"\#(head)\#(Self.marks())"}"#,
                #"{"socket_id":"1.2","channel_name":"\#(head)\#(Self.marks())"}"#,
                "socket_id=1.2&channel_name=\(head)\(Self.marks())", "socket_id=1.2&\(head)\(Self.marks())=1",
                "socket_id=1.2&a\(Self.marks())&a\(Self.marks())&b=2",
            ] { #expect(FleetCall(.post, "/pusher/auth", body).unlimitedStatus == 400) }
        }
    }

    @Test func isFastWithMarksInPaths() {
        for path in ["/a", "/api/a", "/api/admin/o", "/api/admin/orders/1/a", "/apps/1", "/apps/1/c", "/", "/app-", "/pusher/a"] {
            #expect(FleetCall(.get, path + Self.marks()).unlimitedStatus != nil)
        }
    }

    @Test func isFastWithMarksInSignedRequests() {
        for path in ["/apps/1001/events", "/apps/1001/channels", "/apps/1001/x" + Self.marks()] {
            for name in ["auth_key", "auth_version", "auth_timestamp", "auth_signature", "body_md5", "x", "info"] {
                for value in ["", "1", "key1", "1.0", "%61"] {
                    var call = FleetCall(.post, path, as: nil)
                    call.query = Call().signed().query.filter { $0.name != name } + [(name, value + Self.marks())]
                    #expect(call.unlimitedStatus == 401, "\(name)")
                    call.query.append((name + Self.marks(), value))
                    #expect(call.unlimitedStatus == 401, "\(name)")
                }
            }
        }
    }

    @Test func isFastWithMarksInOriginsAndHosts() {
        let token = "session=" + FleetCall.token(for: FleetCall.identity(.driver))
        for text in ["https://a.example", "https://", "", "://"].map({ $0 + Self.marks() }) {
            let call = FleetCall(.get, "/api/x", as: nil).with(.cookie, token)
            #expect(call.with(.origin, text).unlimitedStatus == 401)
            #expect(call.with(.origin, text).with(.host, Self.marks()).unlimitedStatus != nil)
            #expect(call.with(.secFetchSite, text).unlimitedStatus == 401)
        }
    }

    @Test func isFastWithMarksInOtherFields() {
        let call = FleetCall(.post, "/api/admin/orders/A1/unassign")
        for head in ["", "\"", "*", "3"] {
            #expect(call.with(.ifMatch, head + Self.marks()).unlimitedStatus == 400)
            #expect(call.with(.idempotencyKey, head + Self.marks()).unlimitedStatus == 400)
            #expect(FleetCall(.post, "/pusher/auth").with(.contentType, head + Self.marks()).unlimitedStatus == 400)
        }
    }

    @Test func isFastWithMarksInAuthorizationAndCookies() {
        for field in [HTTPRequest.Field.authorization, .cookie] {
            for head in ["", "B", "Bearer ", "session", "session=", "a=b;", " "] {
                #expect(FleetCall(.get, "/api/x", as: nil).with(field, head + Self.marks()).unlimitedStatus == 401)
            }
        }
    }
}

extension FleetCall {
    /// The status as if heads and bodies of any length were read, so that quadratic work takes minutes.
    fileprivate var unlimitedStatus: Int? {
        let router = Self.router()
        // No value of a header field is at offset 0.
        var (bytes, head) = ([UInt8(ascii: "\n")], RequestHead())
        func append(_ text: String) -> ByteRange {
            bytes += text.utf8
            return ByteRange(bytes.count - text.utf8.count..<bytes.count)
        }
        head.method = method
        head.path = append(path)
        head.query = append(query.map { $0.name + "=" + $0.value }.joined(separator: "&"))
        for (field, value) in fields { _ = head.add(append(value), for: field) }
        head.byteCount = bytes.count
        let action = bytes.withUnsafeBytes { bytes in
            body.withUnsafeBytes { body in
                let request = HTTPRequest(head: head, bytes: bytes, body: body, correlationID: "c1", isLoopback: false)
                return router.action(of: request, now: Call.now, limitsBody: false)
            }
        }
        if case .respond(let response) = action { return response.status }
        return nil
    }
}
