import Testing
import Threads

@testable import SMS

/// A sender whose adapter nobody runs. Those with an adapter are in Tests/EndToEnd/test_code_sending.py.
@Suite struct SMSSenderTests {
    private let outcomes = WorkQueue<(tag: Int, outcome: SMSOutcome)>(capacity: 1_000)
    private let reasons = Lock(0)

    private func sender(capacity: Int, refusals: Int = 0) -> SMSSender<Int> {
        let (outcomes, reasons, left) = (outcomes, reasons, Lock(refusals))
        // Port 1 of this machine: the connection is refused at once.
        let adapter = SMSAdapter(url: "http://127.0.0.1:1/", secret: "s", template: "{code}", timeoutMilliseconds: 100)
        return SMSSender(
            adapter, capacity: capacity,
            .init(
                finished: { tag, outcome in
                    let isRefused = left.withLock { left in
                        left -= 1
                        return left >= 0
                    }
                    return !isRefused && outcomes.post((tag, outcome))
                },
                failed: { _ in reasons.withLock { $0 += 1 } }))
    }

    private func message(_ tag: Int) -> SMSSender<Int>.Message {
        .init(phone: "+1555\(tag)", code: "123456", id: "\(tag)", tag: tag)
    }

    private func take(_ count: Int) -> [(tag: Int, outcome: SMSOutcome)] {
        var all: [(tag: Int, outcome: SMSOutcome)] = []
        var some: [(tag: Int, outcome: SMSOutcome)] = []
        while all.count < count, outcomes.take(into: &some, most: count, waiting: 10_000) == .items { all += some }
        return all
    }

    @Test func everySMSHasItsOutcomeAfterThreeAttempts() {
        let sender = sender(capacity: 100)
        for tag in 0..<50 { #expect(sender.post(message(tag))) }
        let outcomes = take(50)
        #expect(Set(outcomes.map(\.tag)) == Set(0..<50) && outcomes.allSatisfy { $0.outcome == .refused })
        #expect(reasons.withLock { $0 } == 150)
        sender.stop()
    }

    @Test func anOutcomeThatCouldNotBeToldIsToldAgain() {
        let sender = sender(capacity: 10, refusals: 3)
        #expect(sender.post(message(7)))
        #expect(take(1).map(\.tag) == [7])
        sender.stop()
    }

    @Test func whatWaitsIsBounded() {
        // Nothing is told, so all SMS stay open.
        let sender = sender(capacity: 3, refusals: .max)
        for tag in 0..<3 { #expect(sender.post(message(tag))) }
        #expect(!sender.post(message(3)) && sender.depth == 3)
        sender.stop()
        #expect(!sender.post(message(4)), "it has stopped")
    }
}
