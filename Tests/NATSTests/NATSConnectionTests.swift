import Glibc
import NATS
import Synchronization
import Testing
import Threads

@Suite struct NATSConnectionTests {
    @Test func keepsTheOrderOfASendersMessagesOverAllSubjects() {
        let server = NATSServer()
        let (sender, receiver) = (Connected(to: server), Connected(to: server))
        #expect(receiver.subscribe([1: "a", 2: "b.c", 3: "d", 4: "e.>", 5: "f"]))
        let subjects = ["a", "b.c", "d", "e.f", "f"]
        let numbers = (0..<20_000).map { $0 }
        for start in stride(from: 0, to: numbers.count, by: 7) {
            let part = numbers[start..<min(start + 7, numbers.count)]
            #expect(sender.connection.post(part.map { .publish("\($0)", to: subjects[$0 % 5]) }))
        }
        #expect(receiver.recorder.waitForMessages(numbers.count))
        #expect(receiver.recorder.all.texts == numbers.map { "\($0)" })
        #expect(receiver.recorder.all.tokens == numbers.map { UInt64($0 % 5 + 1) })
        #expect(receiver.connection.messagesIn == numbers.count && sender.connection.messagesOut == numbers.count)
        #expect(receiver.connection.bytesIn == sender.connection.bytesOut && receiver.connection.bytesIn > numbers.count)
        sender.close()
        receiver.close()
    }

    @Test func whatIsPublishedAfterTheGrantArrives() throws {
        let server = NATSServer()
        let proxy = DelayingProxy(to: server.port, milliseconds: 40)
        let sender = Connected(to: server)
        let recorder = Recorder()
        let far = NATSConnection(.init(servers: [proxy.url], name: "far")) { events in
            // At once, without a change of threads.
            for token in events.granted.sorted() { #expect(sender.publish("after \(token)", to: "s.\(token)")) }
            recorder.append(events)
        }
        #expect(recorder.waitForUps(1))
        for round in 0..<20 {
            let tokens = (0..<10).map { UInt64(round * 10 + $0) }
            #expect(far.post(tokens.map { .subscribe(subject: "s.\($0)", token: $0) }))
            try #require(recorder.waitForMessages(tokens.count * (round + 1)))
        }
        #expect(Set(recorder.all.texts) == Set((0..<200).map { "after \($0)" }))
        far.close(drainSeconds: 5)
        sender.close()
        proxy.stop()
    }

    @Test func grantsTenThousandSubscriptions() {
        let server = NATSServer()
        let (sender, receiver) = (Connected(to: server), Connected(to: server))
        let subjects = Dictionary(uniqueKeysWithValues: (0..<10_000).map { (UInt64($0), "s.\($0)") })
        #expect(receiver.subscribe(subjects))
        #expect(sender.connection.post(subjects.map { .publish($0.value, to: $0.value) }))
        #expect(receiver.recorder.waitForMessages(10_000))
        #expect(Set(receiver.recorder.all.texts) == Set(subjects.values))
        sender.close()
        receiver.close()
    }

    @Test func nothingIsReportedAfterUnsubscribing() {
        let server = NATSServer()
        let (sender, receiver) = (Connected(to: server), Connected(to: server))
        #expect(receiver.subscribe([1: "a", 2: "b"]))
        #expect(sender.publish("first", to: "a"))
        #expect(receiver.recorder.waitForMessages(1))
        #expect(receiver.connection.post([.unsubscribe(token: 1), .unsubscribe(token: 7)]))
        #expect(receiver.subscribe([3: "c"]))
        #expect(sender.connection.post([.publish("second", to: "a"), .publish("third", to: "b")]))
        #expect(receiver.recorder.waitForMessages(2))
        #expect(receiver.recorder.all.texts == ["first", "third"])
        sender.close()
        receiver.close()
    }

    @Test func doesNotReceiveItsOwnMessages() {
        let server = NATSServer()
        let (one, other) = (Connected(to: server), Connected(to: server))
        #expect(one.subscribe([1: "a"]) && other.subscribe([1: "a"]))
        #expect(one.publish("by one", to: "a"))
        #expect(other.recorder.waitForMessages(1))
        #expect(other.publish("by other", to: "a"))
        #expect(one.recorder.waitForMessages(1))
        #expect(one.recorder.all.texts == ["by other"] && other.recorder.all.texts == ["by one"])
        one.close()
        other.close()
    }

    @Test func refusesAPayloadThatTheServerWouldRefuse() {
        let server = NATSServer()
        let (sender, receiver) = (Connected(to: server), Connected(to: server))
        #expect(receiver.subscribe([1: "a"]))
        let payloadMax = sender.recorder.all.compactMap { if case .up(let max) = $0 { max } else { nil } }.first ?? 0
        #expect(payloadMax == 1 << 20)
        let payloads = [payloadMax + 1, payloadMax].map { [UInt8](repeating: 1, count: $0) }
        #expect(sender.connection.post(payloads.map { .publish(subject: "a", payload: $0) }))
        #expect(receiver.recorder.waitForMessages(1))
        #expect(receiver.connection.bytesIn == payloadMax)
        #expect(sender.connection.publishesDiscarded == 1)
        sender.close()
        receiver.close()
    }

    @Test func closeDeliversWhatIsQueued() {
        let server = NATSServer()
        let (sender, receiver) = (Connected(to: server), Connected(to: server))
        #expect(receiver.subscribe([1: "a"]))
        let payload = [UInt8](repeating: 1, count: 1_000)
        #expect(sender.connection.post((0..<10_000).map { _ in .publish(subject: "a", payload: payload) }))
        sender.close()
        #expect(!sender.connection.isUp && !sender.publish("late", to: "a"))
        #expect(receiver.recorder.waitForMessages(10_000))
        receiver.close()
    }

    @Test func fullQueueRefusesPublishesButNoSubscriptions() {
        let server = NATSServer()
        let receiver = Connected(to: server)
        #expect(receiver.subscribe([1: "a"]))
        let (recorder, isBlocked) = (Recorder(), StartBarrier(1))
        let wasBlocked = Atomic(false)
        var options = NATSConnection.Options(servers: [server.url], name: "test")
        options.queueBytesMax = 10_000
        let sender = NATSConnection(options) { events in
            recorder.append(events)
            if !wasBlocked.exchange(true, ordering: .relaxed) { isBlocked.arriveAndWait() }
        }
        isBlocked.waitForArrival()
        let publish = NATSConnection.Command.publish(subject: "a", payload: [UInt8](repeating: 1, count: 999))
        var accepted = 0
        while sender.post([publish]) { accepted += 1 }
        #expect(accepted == 10)
        #expect(!sender.isUp)
        #expect(!sender.post([publish, .subscribe(subject: "b", token: 2)]))
        isBlocked.open()
        #expect(recorder.waitForGrants([2]) && receiver.recorder.waitForMessages(10))
        #expect(sender.isUp && sender.messagesOut == 10)
        sender.close(drainSeconds: 5)
        receiver.close()
    }

    @Test func reportsHowManyMessagesWereDropped() {
        let server = NATSServer()
        let sender = Connected(to: server)
        var options = NATSConnection.Options(servers: [server.url], name: "test")
        options.pendingMessagesMax = 1
        let receiver = Connected(options)
        #expect(receiver.recorder.waitForUps(1) && receiver.subscribe([1: "a"]))
        #expect(sender.connection.post((0..<20_000).map { .publish("\($0)", to: "a") }))
        #expect(receiver.recorder.wait { $0.dropped > 0 && $0.dropped + $0.texts.count == 20_000 })
        sender.close()
        receiver.close()
    }
}
