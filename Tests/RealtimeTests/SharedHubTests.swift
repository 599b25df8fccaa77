import FanOut
import PusherAPI
import PusherProtocol
import Server
import TestSupport
import Testing
import Threads
import Webhooks

@testable import Realtime

@Suite struct SharedHubTests {
    private let hub = SharedHub(wakeups: [Wakeup(), Wakeup()], apps: [AppRules()])

    @Test func appendsEffectsToTheMailboxesOfTheirLoops() throws {
        let (near, far) = try subscribers()
        #expect(try publish("news"))
        #expect(
            instructions(of: 0).suffix(1) == [.fanOut(frame, 0, except: nil)],
            "effects for the caller's own loop also go through its mailbox")
        #expect(instructions(of: 1).suffix(1) == [.fanOut(frame, 0, except: nil)])
        #expect(near.loop == 0 && far.loop == 1)
    }

    @Test func oneOfManyPublishesIsMeasuredByTheLoopsThatItReaches() throws {
        _ = try subscribers()
        for _ in 0..<2 * SharedHub.sampledOneIn { #expect(try publish("news")) }
        for loop in 0..<2 {
            var messages: [LoopMessage] = []
            hub.mailboxes[loop].drain(into: &messages)
            let marks = messages.indices.filter { if case .publishTaken = messages[$0] { true } else { false } }
            #expect(marks.count == 2)
            let isBehindEffect = marks.map { if case .instruction(.fanOut) = messages[$0 - 1] { true } else { false } }
            #expect(isBehindEffect == [true, true])
        }
        for _ in 0..<SharedHub.sampledOneIn { #expect(try publish("elsewhere")) }
        #expect(hub.mailboxes.allSatisfy { $0.depth == 0 }, "a publish without subscribers reaches no loop")
    }

    @Test func rejectsAPublishIfARequiredMailboxIsFull() throws {
        _ = try subscribers()
        fill(loop: 1)
        let depth = hub.mailboxes[0].depth
        #expect(try !publish("news"))
        #expect(hub.mailboxes[0].depth == depth, "a rejected publish has no effects")
    }

    @Test func publishesIfOnlyOtherMailboxesAreFull() throws {
        _ = try subscribers()
        fill(loop: 1)
        #expect(try publish("elsewhere"))
    }

    @Test func appliesSubscribesAndClosesEvenIfAMailboxIsFull() throws {
        let (_, far) = try subscribers()
        fill(loop: 1)
        hub.apply(.subscribe(far, try grant("another", to: far)))
        hub.apply(.closed(far))
        #expect(instructions(of: 1).suffix(2) == [.leave(0, far), .leave(1, far)])
        #expect(hub.read { $0.subscriptionCount } == 1)
    }

    // MARK: Webhook events

    @Test func webhookEventsKeepTheHubsOrder() throws {
        let inbox = WebhookInbox()
        let hub = SharedHub(wakeups: [Wakeup(), Wakeup()], apps: [Self.webhookRules], webhookInbox: inbox)
        var random = SplitMix(seed: 1)
        let sockets = (0..<2).map { SocketID(loop: $0, slot: 0, using: &random) }
        let grants = try sockets.map { try grant("news", to: $0) }
        for socket in sockets { #expect(hub.open(socket, app: 0)) }
        // Both connections join and leave repeatedly. If the hub appended webhook events after unlocking, they could
        // overtake each other.
        let threads = zip(sockets, grants).map { socket, grant in
            Thread(name: "loop-\(socket.loop)") {
                for _ in 0..<1_000 {
                    hub.apply(.subscribe(socket, grant))
                    hub.apply(.unsubscribe(socket, grant.channel))
                }
            }
        }
        for thread in threads { thread.join() }
        var events: [AppWebhookEvent] = []
        inbox.drain(into: &events)
        #expect(events.count >= 2 && events.count.isMultiple(of: 2))
        for (index, event) in events.enumerated() {
            let channel = grants[0].channel
            #expect(
                event == AppWebhookEvent(app: 0, index.isMultiple(of: 2) ? .channelOccupied(channel) : .channelVacated(channel)))
        }
    }

    @Test func discardsWebhookEventsWithoutInbox() throws {
        let hub = SharedHub(wakeups: [Wakeup()], apps: [Self.webhookRules])
        var random = SplitMix(seed: 1)
        let socket = SocketID(loop: 0, slot: 0, using: &random)
        #expect(hub.open(socket, app: 0))
        hub.apply(.subscribe(socket, try grant("news", to: socket)))
        #expect(!hub.read { $0.hasWebhookEvents })
    }

    private static var webhookRules: AppRules {
        var rules = AppRules()
        rules.webhooks = .occupancy
        return rules
    }

    // MARK: Fixture: one connection on each of two loops, both subscribed to `news`

    private let frame = Frame(text: Array(#"{"event":"e","channel":"news","data":"d"}"#.utf8))

    private func subscribers() throws -> (SocketID, SocketID) {
        var random = SplitMix(seed: 1)
        let sockets = (0..<2).map { SocketID(loop: $0, slot: 0, using: &random) }
        for socket in sockets {
            #expect(hub.open(socket, app: 0))
            hub.apply(.subscribe(socket, try grant("news", to: socket)))
        }
        return (sockets[0], sockets[1])
    }

    private func grant(_ channel: String, to socket: SocketID) throws -> SubscriptionGrant {
        try SubscriptionRequest(channel: channel).grant(to: socket, key: "", limits: Limits()) { _, _ in false }
    }

    private func publish(_ channel: String) throws -> Bool {
        let body = Array(#"{"name":"e","channel":"\#(channel)","data":"d"}"#.utf8)
        let event = try body.withUnsafeBytes { try EventRequest($0, rules: AppRules()) }
        if case .published = hub.publish(PublishRequest(events: [event], isBatch: false), app: 0) { return true }
        return false
    }

    private func fill(loop: Int) {
        while hub.mailboxes[loop].hasRoom { hub.post(.drain(seconds: 0, requestSeconds: 0, .restart), to: loop) }
    }

    private func instructions(of loop: Int) -> [Instruction] {
        var messages: [LoopMessage] = []
        hub.mailboxes[loop].drain(into: &messages)
        return messages.compactMap { if case .instruction(let instruction) = $0 { instruction } else { nil } }
    }
}

extension SharedHub {
    /// Applies an input without waking other threads.
    func apply(_ input: Hub.Input) {
        var woken = ThreadsToWake()
        apply(input, &woken)
    }

    /// Publishes without waking other threads.
    func publish(_ request: PublishRequest, app: AppIndex) -> PublishResult {
        var woken = ThreadsToWake()
        return publish(request, app: app, &woken)
    }
}
