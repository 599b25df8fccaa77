import Testing

@testable import Cluster

@Suite("The numbers of messages")
struct ReceivedNumbersTests {
    private func message(_ number: UInt64, before: UInt64, from sender: UInt64 = 1) -> ClusterMessage {
        var message = ClusterMessage(sender: Epoch(sender), .goodbye)
        (message.number, message.numberBefore) = (number, before)
        return message
    }

    @Test("each message of a subject names the one before it")
    func sent() {
        var numbers = SentNumbers()
        #expect(numbers.next(on: "a", at: 0) == (1, 0))
        #expect(numbers.next(on: "b", at: 0) == (2, 0))
        #expect(numbers.next(on: "a", at: 0) == (3, 1))
        #expect(numbers.next(on: "a", at: 0) == (4, 3))
    }

    @Test("subjects that were not used for a minute are forgotten, their numbers not given again")
    func forgotten() {
        var numbers = SentNumbers()
        _ = numbers.next(on: "a", at: 0)
        _ = numbers.next(on: "b", at: 59_000)
        numbers.tick(at: 60_000)
        #expect(numbers.next(on: "a", at: 60_000) == (3, 0))
        #expect(numbers.next(on: "b", at: 60_000) == (4, 2))
    }

    @Test("what one sender numbers, a receiver finds complete")
    func complete() {
        var (sent, received) = (SentNumbers(), ReceivedNumbers())
        for step in 0..<100 {
            let subject = step % 3 == 0 ? "a" : "b"
            let (number, before) = sent.next(on: subject, at: 0)
            guard subject == "a" else { continue }
            #expect(received.receive(message(number, before: before)) == .next)
        }
    }

    @Test("a loss is found with the next message, a repetition at once")
    func findings() {
        var received = ReceivedNumbers()
        #expect(received.receive(message(5, before: 4)) == .next)
        #expect(received.receive(message(5, before: 4)) == .repeated)
        #expect(received.receive(message(3, before: 2)) == .repeated)
        #expect(received.receive(message(9, before: 7)) == .gap)
        #expect(received.receive(message(11, before: 9)) == .next)
        // The sender has forgotten the subject: nothing can be told.
        #expect(received.receive(message(20, before: 0)) == .next)
    }

    @Test("each sender has its own numbers, which are forgotten with it")
    func senders() {
        var received = ReceivedNumbers()
        #expect(received.receive(message(5, before: 0)) == .next)
        #expect(received.receive(message(5, before: 4, from: 2)) == .next)
        received.forget(Epoch(1))
        #expect(received.receive(message(4, before: 3)) == .next)
        #expect(received.receive(message(5, before: 4, from: 2)) == .repeated)
        received.forgetAll()
        #expect(received.receive(message(9, before: 7, from: 2)) == .next)
    }
}
