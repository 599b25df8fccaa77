import PusherProtocol
import Synchronization
import Testing

@testable import Webhooks

/// The way to the worker: in order, bounded, and it wakes whoever sleeps.
@Suite struct WebhookInboxTests {
    private let box = WebhookInbox()

    @Test func keepsTheOrderAndSaysWhenToWake() {
        #expect(box.append(count(1)), "the first one has to wake the reader")
        #expect(!box.append(count(2)))
        var batch = [count(9)]
        box.drain(into: &batch)
        #expect(batch == [count(1), count(2)])
        #expect(box.append(count(3)))
    }

    @Test func refusesTheNewestWhenItIsFull() {
        for number in 1...WebhookInbox.capacity { _ = box.append(count(number)) }
        #expect(box.refusals == 0)
        #expect(!box.append(count(0)) && !box.append(count(0)))
        #expect(box.refusals == 2 && box.depth == WebhookInbox.capacity)
        var batch: [AppWebhookEvent] = []
        box.drain(into: &batch)
        #expect(batch.first == count(1) && batch.last == count(WebhookInbox.capacity))
        #expect(box.append(count(1)))
    }

    @Test func wakesItsReaderOnceThereIsOne() {
        let wakes = Atomic<Int>(0)
        box.wake()
        box.connect { wakes.wrappingAdd(1, ordering: .relaxed) }
        box.wake()
        box.wake()
        #expect(wakes.load(ordering: .relaxed) == 2)
    }
}
