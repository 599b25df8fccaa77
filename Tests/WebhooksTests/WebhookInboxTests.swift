import PusherProtocol
import Synchronization
import Testing

@testable import Webhooks

/// The queue of webhook events for the worker. It keeps their order, is bounded, and says when the caller must wake the
/// worker.
@Suite struct WebhookInboxTests {
    private let inbox = WebhookInbox()

    @Test func keepsOrderAndRequestsAWakeOnce() {
        #expect(inbox.append(subscriptionCount(1)), "the caller must wake the worker")
        inbox.wake()
        #expect(!inbox.append(subscriptionCount(2)))
        var batch = [subscriptionCount(9)]
        inbox.drain(into: &batch)
        #expect(batch == [subscriptionCount(1), subscriptionCount(2)])
        #expect(inbox.append(subscriptionCount(3)))
    }

    @Test func dropsNewEventsWhenFull() {
        for number in 1...WebhookInbox.capacity { _ = inbox.append(subscriptionCount(number)) }
        #expect(inbox.refusals == 0)
        #expect(!inbox.append(subscriptionCount(0)) && !inbox.append(subscriptionCount(0)), "nothing to wake the worker for")
        #expect(inbox.refusals == 2 && inbox.depth == WebhookInbox.capacity)
        var batch: [AppWebhookEvent] = []
        inbox.drain(into: &batch)
        #expect(batch.first == subscriptionCount(1) && batch.last == subscriptionCount(WebhookInbox.capacity))
        #expect(inbox.append(subscriptionCount(1)))
    }

    @Test func wakesTheConnectedWorker() {
        let wakes = Atomic<Int>(0)
        inbox.wake()
        inbox.connect { wakes.wrappingAdd(1, ordering: .relaxed) }
        inbox.wake()
        inbox.wake()
        #expect(wakes.load(ordering: .relaxed) == 2)
    }
}
