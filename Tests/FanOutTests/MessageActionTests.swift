import FanOut
import HubFixture
import PusherProtocol
import Testing

/// The action that a client's message causes. These tests accept `sig` as a valid signature of any text.
@Suite struct MessageActionTests {
    private let anna = socket("1.0")

    private func action(_ text: String, clientEvents: Bool = true, user: SignedInUser? = nil) -> MessageAction {
        var rules = AppRules()
        rules.clientEvents = clientEvents
        return Array(text.utf8).withUnsafeBytes { text in
            MessageAction(to: text, from: anna, key: "key1", rules: rules, user: user) { _, signature in signature == "sig" }
        }
    }

    private func reply(_ text: String, clientEvents: Bool = true, user: SignedInUser? = nil) -> Frame? {
        switch action(text, clientEvents: clientEvents, user: user) {
        case .reply(let frame), .refuse(let frame, _): frame
        default: nil
        }
    }

    private func subscribe(_ channel: String, _ rest: String = "") -> String {
        #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)","auth":"key1:sig"\#(rest)}}"#
    }

    @Test func p1RepliesToPingAndIgnoresPong() {
        #expect(reply(#"{"event":"pusher:ping"}"#) == ServerMessage.pong)
        if case .recordPong = action(#"{"event":"pusher:pong"}"#) {} else { Issue.record("expected no reply to a pong") }
    }

    @Test func m1InvalidMessageGetsAnError() {
        #expect(reply("no") == error("Invalid JSON at byte 0: expected an object"))
    }

    @Test(arguments: [
        #"{"event":"pusher:subscribe","data":{"channel":"private-a","auth":"key1:sig"}}"#,
        #"{"event":"pusher:unsubscribe","data":{"channel":"a"}}"#,
        #"{"event":"pusher:signin","data":{"auth":"key1:sig","user_data":"{\"id\":\"anna\"}"}}"#,
    ])
    func commandAboveTheRateIsRefusedBeforeItsSignatureIsVerified(text: String) {
        var verifications = 0
        let action = Array(text.utf8).withUnsafeBytes { text in
            MessageAction(
                to: text, from: anna, key: "key1", rules: AppRules(), user: nil, permitsCommand: { false },
                verify: { _, _ in
                    verifications += 1
                    return true
                })
        }
        let refusal = error("Command rejected: more than the allowed number per second", code: 4301)
        switch action {
        case .reply(let frame): #expect(frame == refusal)
        case .refuse(let frame, let reason):
            #expect(frame == refusal)
            #expect(reason == SubscriptionRefusal(pattern: nil, reason: .rate))
        default: Issue.record("not refused")
        }
        #expect(verifications == 0)
    }

    static let refused: [(channel: String, pattern: String?, reason: RefusalReason)] = [
        ("private-driver-42", "driver-*", .signature), ("private-lobby-1", "lobby-*", .signature),
        ("private-other", nil, .signature), ("presence-driver-42", "driver-*", .signature), ("a b", nil, .invalidName),
    ]

    @Test(arguments: refused)
    func refusedSubscriptionNamesThePatternOfItsChannel(channel: String, pattern: String?, reason: RefusalReason) {
        let text = #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)","auth":"key1:other"}}"#
        var rules = AppRules()
        rules.channels = PlainRules(patterns: ["driver-*", "lobby-*"])
        let action = Array(text.utf8).withUnsafeBytes {
            MessageAction(to: $0, from: anna, key: "key1", rules: rules, user: nil) { _, _ in false }
        }
        guard case .refuse(_, let refusal) = action else {
            Issue.record("expected a refusal")
            return
        }
        #expect(refusal == SubscriptionRefusal(pattern: pattern, reason: reason))
    }

    @Test func onlyCommandsCountAsCommands() {
        let clientEvent = #"{"event":"client-a","channel":"private-a"}"#
        for text in [#"{"event":"pusher:ping"}"#, #"{"event":"pusher:pong"}"#, clientEvent, "no"] {
            _ = Array(text.utf8).withUnsafeBytes { text in
                MessageAction(
                    to: text, from: anna, key: "key1", rules: AppRules(), user: nil,
                    permitsCommand: {
                        Issue.record("\(text) was counted")
                        return true
                    },
                    verify: { _, _ in true })
            }
        }
    }

    @Test func s1AppliesASubscription() {
        guard case .apply(.subscribe(let socket, let grant)) = action(subscribe("private-a")) else {
            Issue.record("expected a subscription for the hub")
            return
        }
        #expect(socket == anna && grant.channel == name("private-a") && grant.member == nil)
    }

    @Test func r1PresenceSubscriptionCarriesItsMember() {
        guard
            case .apply(.subscribe(_, let grant)) = action(subscribe("presence-a", #","channel_data":"{\"user_id\":10}""#))
        else {
            Issue.record("expected a subscription for the hub")
            return
        }
        #expect(grant.member == member("10"))
        #expect(
            reply(subscribe("presence-a"))
                == error("Subscribing to presence-a needs channel_data, or a signed-in user", code: 4009))
    }

    @Test func u7SignedInUserNeedsNoChannelData() {
        guard case .apply(.subscribe(_, let grant)) = action(subscribe("presence-a"), user: user("anna")) else {
            Issue.record("expected a subscription for the hub")
            return
        }
        #expect(grant.member == member("anna"))
    }

    @Test func s4AppliesAnUnsubscription() {
        guard case .apply(.unsubscribe(anna, name("a"))) = action(#"{"event":"pusher:unsubscribe","data":{"channel":"a"}}"#)
        else {
            Issue.record("expected an input for the hub")
            return
        }
        #expect(
            reply(#"{"event":"pusher:unsubscribe","data":{"channel":"a b"}}"#)
                == error("No current subscription to channel a b, or subscription in progress"))
    }

    // MARK: Signing in

    private let signin = #"{"event":"pusher:signin","data":{"auth":"key1:sig","user_data":"{\"id\":\"anna\"}"}}"#

    @Test func u1SigninYieldsTheUser() {
        guard case .signIn(let user) = action(signin) else {
            Issue.record("expected a sign-in")
            return
        }
        #expect(user.id == "anna" && user.watchlist.isEmpty && !user.isWatchlistTruncated)
    }

    @Test func u3RejectsASecondSignin() {
        let rejected = error("Already signed in: a connection cannot change its user", code: 4009)
        #expect(reply(signin, user: user("anna")) == rejected)
        #expect(reply(signin, user: user("bert")) == rejected)
    }

    @Test func u2WrongSignatureIsRejected() {
        let text = signin.replacing("key1:sig", with: "key1:wrong")
        #expect(
            reply(text)
                == error(#"Invalid signature: expected HMAC SHA256 hex digest of 1.0::user::{"id":"anna"}"#, code: 4009))
    }

    // MARK: Client events

    @Test func e1ClientEventIsRateLimited() {
        guard
            case .applyRateLimited(.clientEvent(let socket, let event, let channel)) =
                action(#"{"event":"client-e","channel":"private-a","data":{"x":1}}"#)
        else {
            Issue.record("expected an input for the hub")
            return
        }
        #expect(socket == anna && channel == name("private-a"))
        #expect(event == ClientEvent(name: "client-e", channel: "private-a", data: Array(#""{\"x\":1}""#.utf8)))
    }

    @Test func e10RejectsClientEventsIfDisabled() {
        #expect(
            reply(#"{"event":"client-e","channel":"private-a"}"#, clientEvents: false)
                == error("To send client events, you must enable this feature in the application's configuration"))
    }

    @Test func e5RejectsClientEventsOnPublicChannels() {
        #expect(
            reply(#"{"event":"client-e","channel":"a"}"#)
                == error("Client events are only supported on private and presence channels"))
    }
}
