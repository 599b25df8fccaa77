import FanOut
import HTTPAPI
import PusherProtocol
import Server
import Testing

@testable import Gateway

@Suite struct SharedHubTests {
    private let hub = SharedHub(wakeups: [Wakeup(), Wakeup()], apps: [AppRules()])

    @Test func putsEveryEffectInTheMailboxOfItsLoop() throws {
        let (near, far) = try subscribers()
        #expect(try publish("news"))
        #expect(instructions(of: 0).suffix(1) == [.fanOut(frame, 0, except: nil)], "the caller's own loop has no shortcut")
        #expect(instructions(of: 1).suffix(1) == [.fanOut(frame, 0, except: nil)])
        #expect(near.loop == 0 && far.loop == 1)
    }

    @Test func refusesAPublishBeforeApplyingItWhenAMailboxItNeedsIsFull() throws {
        _ = try subscribers()
        fill(loop: 1)
        let depth = hub.mailboxes[0].depth
        #expect(try !publish("news"))
        #expect(hub.mailboxes[0].depth == depth, "nobody gets what was refused")
    }

    @Test func publishesWhileAMailboxIsFullThatItDoesNotNeed() throws {
        _ = try subscribers()
        fill(loop: 1)
        #expect(try publish("elsewhere"))
    }

    @Test func takesJoinsLeavesAndClosesWhateverTheDepth() throws {
        let (_, far) = try subscribers()
        fill(loop: 1)
        hub.apply(.subscribe(far, try grant("another", to: far)), from: 1)
        hub.apply(.closed(far), from: 1)
        #expect(instructions(of: 1).suffix(2) == [.leave(0, far), .leave(1, far)])
        #expect(hub.read { $0.subscriptionCount } == 1)
    }

    // MARK: The scene: a connection on each of two loops, both subscribed to `news`

    private let frame = Frame(text: Array(#"{"event":"e","channel":"news","data":"d"}"#.utf8))

    private func subscribers() throws -> (SocketID, SocketID) {
        var random = SystemRandomNumberGenerator()
        let sockets = (0..<2).map { SocketID(loop: $0, slot: 0, using: &random) }
        for socket in sockets {
            #expect(hub.open(socket, app: 0))
            hub.apply(.subscribe(socket, try grant("news", to: socket)), from: socket.loop)
        }
        return (sockets[0], sockets[1])
    }

    private func grant(_ channel: String, to socket: SocketID) throws -> SubscriptionGrant {
        try SubscriptionRequest(channel: channel).grant(to: socket, key: "", limits: Limits()) { _, _ in false }
    }

    private func publish(_ channel: String) throws -> Bool {
        let body = Array(#"{"name":"e","channel":"\#(channel)","data":"d"}"#.utf8)
        let event = try body.withUnsafeBytes { try EventRequest($0, rules: AppRules()) }
        if case .published = hub.publish(PublishOrder(events: [event], isBatch: false), app: 0, from: 0) { return true }
        return false
    }

    private func fill(loop: Int) {
        while hub.mailboxes[loop].hasRoom { hub.post(.drain(seconds: 0), to: loop) }
    }

    private func instructions(of loop: Int) -> [Instruction] {
        var mail: [Mail] = []
        hub.mailboxes[loop].drain(into: &mail)
        return mail.compactMap { if case .instruction(let instruction) = $0 { instruction } else { nil } }
    }
}
