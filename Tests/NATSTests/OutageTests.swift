import Glibc
import NATS
import Testing
import Threads

@Suite struct OutageTests {
    @Test func nothingPublishedWhileTheServerIsAwayArrivesLater() {
        let server = NATSServer()
        let (sender, receiver) = (Connected(to: server), Connected(to: server))
        #expect(receiver.subscribe([1: "a"]))
        server.kill()
        // Until the loss is noticed, publishes are accepted, and lost.
        let end = Clock.monotonicMilliseconds() + 10_000
        while sender.publish("lost", to: "a"), Clock.monotonicMilliseconds() < end {}
        #expect(sender.recorder.wait { $0.downs.count == 1 } && receiver.recorder.wait { $0.downs.count == 1 })
        #expect(!sender.connection.isUp && !sender.publish("refused", to: "a"))
        // A subscription is accepted and made up for.
        receiver.recorder.removeAll()
        #expect(receiver.connection.post([.subscribe(subject: "b", token: 2), .unsubscribe(token: 9)]))
        server.restart()
        #expect(receiver.recorder.waitForGrants([1, 2]))
        #expect(sender.recorder.waitForUps(2))
        #expect(sender.connection.post([.publish("new", to: "a"), .publish("last", to: "b")]))
        #expect(receiver.recorder.waitForMessages(2))
        #expect(receiver.recorder.all.texts == ["new", "last"])
        #expect(sender.connection.reconnects == 1 && receiver.connection.reconnects == 1)
        sender.close()
        receiver.close()
    }

    @Test func noticesAFrozenServer() {
        let server = NATSServer()
        let (sender, idle) = (Connected(to: server), Connected(to: server))
        server.freeze()
        let start = Clock.monotonicMilliseconds()
        var slowest: Int64 = 0
        // More than the kernel's buffers take, so that writing is tried in vain.
        let payload = [UInt8](repeating: 1, count: 100_000)
        while sender.recorder.all.downs.isEmpty || idle.recorder.all.downs.isEmpty {
            let before = Clock.monotonicMilliseconds()
            _ = sender.connection.post([.publish(subject: "a", payload: payload)])
            _ = sender.connection.post([.subscribe(subject: "b", token: UInt64(before))])
            slowest = max(slowest, Clock.monotonicMilliseconds() - before)
            if before - start > 10_000 { break }
            // The next millisecond: tokens are unique.
            while Clock.monotonicMilliseconds() == before { sched_yield() }
        }
        #expect(Clock.monotonicMilliseconds() - start < 3_500)
        #expect(slowest < 1_000)
        #expect(sender.recorder.all.downs.first == "the server takes no more data")
        #expect(idle.recorder.all.downs.first == "the server does not answer")
        #expect(!sender.connection.isUp && !idle.connection.isUp)
        server.thaw()
        #expect(idle.recorder.waitForUps(2) && idle.subscribe([1: "c"]))
        sender.close()
        idle.close()
    }

    @Test func connectsWhenTheServerIsStartedLater() {
        let server = NATSServer()
        server.kill()
        let late = Connected(NATSConnection.Options(servers: [server.url], name: "test"))
        #expect(late.connection.post([.subscribe(subject: "a", token: 1)]))
        #expect(late.recorder.wait { !$0.downs.isEmpty })
        #expect(!late.connection.isUp)
        server.restart()
        #expect(late.recorder.waitForGrants([1]))
        #expect(late.connection.reconnects == 0)
        late.close()
    }

    @Test func closeEndsTheAttemptsToConnect() {
        let server = NATSServer()
        server.kill()
        let connection = Connected(NATSConnection.Options(servers: [server.url], name: "test"))
        #expect(connection.recorder.wait { !$0.downs.isEmpty })
        connection.close()
        #expect(!connection.connection.post([.subscribe(subject: "a", token: 1)]))
    }

    @Test func subjectThatIsNotPermittedEndsTheConnectionWithTheReason() {
        let directory = TemporaryDirectory()
        let file = directory.write(
            "authorization { users: [ { user: a, password: b, permissions: { subscribe: \"allowed\" } } ] }\n", to: "nats.conf")
        let server = NATSServer(["-c", file])
        var options = NATSConnection.Options(servers: [server.url], name: "test")
        (options.user, options.password) = ("a", "b")
        let connection = Connected(options)
        #expect(connection.connection.post([.subscribe(subject: "other", token: 1)]))
        #expect(connection.recorder.wait { $0.downs.contains { $0.lowercased().contains("permissions violation") } })
        connection.close()
    }
}
