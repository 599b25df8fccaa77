import FanOut
import PusherProtocol
import Testing

/// How a client's message is decoded before it reaches the hub. The valid signature of any text is `sig`.
@Suite struct MessageActionTests {
    private let anna = socket("1.0")

    private func react(_ text: String, clientEvents: Bool = true, user: SignedInUser? = nil) -> MessageAction {
        var rules = AppRules()
        rules.clientEvents = clientEvents
        return Array(text.utf8).withUnsafeBytes { text in
            MessageAction(to: text, from: anna, key: "key1", rules: rules, user: user) { _, signature in signature == "sig" }
        }
    }

    private func answer(_ text: String, clientEvents: Bool = true, user: SignedInUser? = nil) -> Frame? {
        if case .reply(let frame) = react(text, clientEvents: clientEvents, user: user) { frame } else { nil }
    }

    private func subscribe(_ channel: String, _ rest: String = "") -> String {
        #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)","auth":"key1:sig"\#(rest)}}"#
    }

    @Test func p1RepliesToPingAndIgnoresPong() {
        #expect(answer(#"{"event":"pusher:ping"}"#) == ServerMessage.pong)
        if case .ignore = react(#"{"event":"pusher:pong"}"#) {} else { Issue.record("a pong is taken in silence") }
    }

    @Test func m1InvalidMessageGetsAnError() {
        #expect(answer("no") == error("Invalid JSON at byte 0: expected an object"))
    }

    @Test func s1AppliesASubscription() {
        guard case .apply(.subscribe(let socket, let grant)) = react(subscribe("private-a")) else {
            Issue.record("not granted")
            return
        }
        #expect(socket == anna && grant.channel == name("private-a") && grant.member == nil)
    }

    @Test func r1PresenceSubscriptionCarriesItsMember() {
        guard
            case .apply(.subscribe(_, let grant)) = react(subscribe("presence-a", #","channel_data":"{\"user_id\":10}""#))
        else {
            Issue.record("not granted")
            return
        }
        #expect(grant.member == member("10"))
        #expect(
            answer(subscribe("presence-a"))
                == error("Subscribing to presence-a needs channel_data, or a signed-in user", code: 4009))
    }

    @Test func u7SignedInUserNeedsNoChannelData() {
        guard case .apply(.subscribe(_, let grant)) = react(subscribe("presence-a"), user: user("anna")) else {
            Issue.record("not granted")
            return
        }
        #expect(grant.member == member("anna"))
    }

    @Test func s4AppliesAnUnsubscription() {
        guard case .apply(.unsubscribe(anna, name("a"))) = react(#"{"event":"pusher:unsubscribe","data":{"channel":"a"}}"#)
        else {
            Issue.record("not passed on")
            return
        }
        #expect(
            answer(#"{"event":"pusher:unsubscribe","data":{"channel":"a b"}}"#)
                == error("No current subscription to channel a b, or subscription in progress"))
    }

    // MARK: Signing in

    private let signin = #"{"event":"pusher:signin","data":{"auth":"key1:sig","user_data":"{\"id\":\"anna\"}"}}"#

    @Test func u1SigninYieldsTheUser() {
        guard case .signIn(let user) = react(signin) else {
            Issue.record("not signed in")
            return
        }
        #expect(user.id == "anna" && user.watchlist.isEmpty && !user.isWatchlistCut)
    }

    @Test func u3RejectsASecondSignin() {
        let refused = error("Already signed in: a connection cannot change its user", code: 4009)
        #expect(answer(signin, user: user("anna")) == refused)
        #expect(answer(signin, user: user("bert")) == refused)
    }

    @Test func u2WrongSignatureIsRejected() {
        let text = signin.replacing("key1:sig", with: "key1:wrong")
        #expect(
            answer(text)
                == error(#"Invalid signature: expected HMAC SHA256 hex digest of 1.0::user::{"id":"anna"}"#, code: 4009))
    }

    // MARK: Client events

    @Test func e1ClientEventIsRateLimited() {
        guard
            case .applyRateLimited(.clientEvent(let socket, let event, let channel)) =
                react(#"{"event":"client-e","channel":"private-a","data":{"x":1}}"#)
        else {
            Issue.record("not passed on")
            return
        }
        #expect(socket == anna && channel == name("private-a"))
        #expect(event == ClientEvent(name: "client-e", channel: "private-a", data: Array(#""{\"x\":1}""#.utf8)))
    }

    @Test func e10RejectsClientEventsIfDisabled() {
        #expect(
            answer(#"{"event":"client-e","channel":"private-a"}"#, clientEvents: false)
                == error("To send client events, you must enable this feature in the application's configuration"))
    }

    @Test func e5RejectsClientEventsOnPublicChannels() {
        #expect(
            answer(#"{"event":"client-e","channel":"a"}"#)
                == error("Client events are only supported on private and presence channels"))
    }
}
