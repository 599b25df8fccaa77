import PusherProtocol
import Testing

@Suite struct SigningTextTests {
    private func request(_ query: [(name: String, value: String)]) -> String {
        SigningText.request(method: "POST", path: "/apps/1001/events", query: query)
    }

    @Test func requestTextHasThreeLines() {
        #expect(request([]) == "POST\n/apps/1001/events\n")
        #expect(
            SigningText.request(method: "GET", path: "/apps/1001/channels", query: [("a", "b")])
                == "GET\n/apps/1001/channels\na=b")
    }

    @Test func sortsParametersByKey() {
        let query = [("body_md5", "5"), ("auth_version", "1.0"), ("auth_timestamp", "3"), ("auth_key", "key1"), ("info", "x")]
        #expect(
            request(query.map { (name: $0.0, value: $0.1) })
                == "POST\n/apps/1001/events\nauth_key=key1&auth_timestamp=3&auth_version=1.0&body_md5=5&info=x")
    }

    @Test func leavesOutAuthSignature() {
        #expect(request([("auth_signature", "0"), ("a", "1"), ("Auth_Signature", "2")]) == "POST\n/apps/1001/events\na=1")
        #expect(request([("auth_signature2", "0")]) == "POST\n/apps/1001/events\nauth_signature2=0")
    }

    /// The signed text has each parameter's key in lower case and its value unchanged (protocol points A1, A10).
    @Test func lowercasesKeysOnly() {
        #expect(request([("Zeta", "A,b%2C é&="), ("ALPHA", "Z")]) == "POST\n/apps/1001/events\nalpha=Z&zeta=A,b%2C é&=")
    }

    @Test func subscriptionTextIsSocketAndChannel() throws {
        let socket = try #require(SocketID("12.34"))
        let channel = try #require(ChannelName("private-a", lengthMax: 200))
        #expect(SigningText.subscription(socket, channel) == "12.34:private-a")
    }

    /// The signed data is `channel_data` (protocol point R7) or `user_data` (U1), byte for byte.
    @Test func signingTextEndsWithTheSignedData() throws {
        let socket = try #require(SocketID("12.34"))
        let channel = try #require(ChannelName("presence-a", lengthMax: 200))
        #expect(SigningText.subscription(socket, channel, channelData: "{ \"x\"}") == "12.34:presence-a:{ \"x\"}")
        #expect(SigningText.subscription(socket, channel, channelData: "") == "12.34:presence-a:")
        #expect(SigningText.signin(socket, userData: "{ }") == "12.34::user::{ }")
    }
}
