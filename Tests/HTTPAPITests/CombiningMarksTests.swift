import HTTP
import HTTPAPI
import Testing

/// Swift compares and hashes strings by canonical equivalence, in time quadratic in a character's combining marks. With
/// as many marks as a body may contain, one comparison takes minutes. Each test sends such strings in certain parts of
/// a request, and exceeds the time limit if the router compares or hashes them as strings.
@Suite(.timeLimit(.minutes(1))) struct CombiningMarksTests {
    private static func marks(_ count: Int = 150_000) -> String { String(repeating: "\u{301}\u{316}", count: count / 2) }

    @Test func isFastWithMarksInMemberNames() {
        let body = #"{"\#(Self.marks())":1,"a\#(Self.marks())":{"driverId\#(Self.marks())":1},"driverId":"42"}"#
        #expect(FleetCall(.post, "/api/admin/orders/A1/assign-driver", body).with(.idempotencyKey, "k").status() == nil)
    }

    @Test func isFastWithMarksInEnumeratedValues() {
        let driver = { FleetCall(.post, "/api/driver/notifications/log", $0, as: .driver) }
        for head in ["", "a", "n", "r", "D"] {
            let text = "\"\(head)\(Self.marks())\""
            #expect(FleetCall(.put, "/api/driver/jobs/A1/progress", #"{"step":\#(text)}"#, as: .driver).status() == 400)
            #expect(driver(FleetTelemetryTests.event(["type": text])).status() == 400)
            #expect(driver(FleetTelemetryTests.event(["event": text])).status() == 400)
            #expect(FleetCall(.post, "/api/admin/notifications", #"{"type":\#(text),"to":{"all":true}}"#).status() == 400)
        }
    }

    @Test func isFastWithMarksInDevicesAndPreferences() {
        let preferences = { FleetCall(.put, "/api/driver/preferences", $0, as: .driver) }
        let device = { FleetCall(.post, "/app-register-device", $0, as: .driver) }
        for head in ["", "a0", "ios", "22:00"] {
            let text = head + Self.marks()
            #expect(FleetCall(.post, "/api/auth/fcm-token", #"{"fcmToken":"\#(text)"}"#, as: .driver).status() == 400)
            #expect(FleetCall(.delete, "/api/auth/fcm-token", as: .driver).withQuery("fcmToken", text).status() == 400)
            #expect(FleetCall(.delete, "/app-register-device", #"{"deviceToken":"\#(text)"}"#, as: .driver).status() == 400)
            for field in ["deviceToken", "platform", "environment", "deviceId"] {
                #expect(device(#"{"deviceToken":"t","platform":"android","\#(field)":"\#(text)"}"#).status() == 400)
            }
            #expect(preferences(#"{"types":{"\#(text)":true,"\#(text)":false}}"#).status() == 400)
            for field in ["from", "to", "timeZone"] {
                #expect(preferences(#"{"quietHours":{"\#(field)":"\#(text)"}}"#).status() == 400)
            }
            #expect(FleetCall(.delete, "/api/admin/people/driver/" + text).status() == 400)
            #expect(FleetCall(.delete, "/api/admin/people/\(text)/1").status() == 404)
        }
    }

    @Test func isFastWithMarksInSocketIDsAndChannels() {
        for head in ["", "1", "1.2", ".", "#", "p", "private-", "#server-to-user-"] {
            for body in [
                #"{"socket_id":"\#(head)\#(Self.marks())"}"#,
                #"{"socket_id":"1.2","channel_name":"\#(head)\#(Self.marks())"}"#,
                "socket_id=1.2&channel_name=\(head)\(Self.marks())", "socket_id=1.2&\(head)\(Self.marks())=1",
                "socket_id=1.2&a\(Self.marks())&a\(Self.marks())&b=2",
            ] { #expect(FleetCall(.post, "/pusher/auth", body).status() == 400) }
        }
    }

    @Test func isFastWithMarksInPaths() {
        for path in ["/a", "/api/a", "/api/admin/o", "/api/admin/orders/1/a", "/apps/1", "/apps/1/c", "/", "/app-", "/pusher/a"] {
            #expect(FleetCall(.get, path + Self.marks()).status() != nil)
        }
    }

    @Test func isFastWithMarksInAuthorizationAndCookies() {
        for field in [HTTPRequest.Field.authorization, .cookie] {
            for head in ["", "B", "Bearer ", "session", "session=", "a=b;", " "] {
                #expect(FleetCall(.get, "/api/x", as: nil).with(field, head + Self.marks()).status() == 401)
            }
        }
    }
}
