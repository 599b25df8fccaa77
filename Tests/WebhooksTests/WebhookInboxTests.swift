import PusherProtocol
import Synchronization
import Testing

@testable import Webhooks

/// The queue to the worker: in order, bounded, with a wake-up.
@Suite struct WebhookInboxTests {
    private let inbox = WebhookInbox()

    @Test func keepsOrderAndRequestsAWakeOnce() {
        #expect(inbox.append(count(1)), "the first one has to wake the reader")
        #expect(!inbox.append(count(2)))
        var batch = [count(9)]
        inbox.drain(into: &batch)
        #expect(batch == [count(1), count(2)])
        #expect(inbox.append(count(3)))
    }

    @Test func dropsNewEventsWhenFull() {
        for number in 1...WebhookInbox.capacity { _ = inbox.append(count(number)) }
        #expect(inbox.refusals == 0)
        #expect(!inbox.append(count(0)) && !inbox.append(count(0)))
        #expect(inbox.refusals == 2 && inbox.depth == WebhookInbox.capacity)
        var batch: [AppWebhookEvent] = []
        inbox.drain(into: &batch)
        #expect(batch.first == count(1) && batch.last == count(WebhookInbox.capacity))
        #expect(inbox.append(count(1)))
    }

    @Test func wakesTheConnectedReader() {
        let wakes = Atomic<Int>(0)
        inbox.wake()
        inbox.connect { wakes.wrappingAdd(1, ordering: .relaxed) }
        inbox.wake()
        inbox.wake()
        #expect(wakes.load(ordering: .relaxed) == 2)
    }
}
