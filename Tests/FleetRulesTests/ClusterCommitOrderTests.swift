import Testing

@testable import Fleet

@Suite("The order of the nodes' commits")
struct ClusterCommitOrderTests {
    @Test("a commit waits for its predecessor")
    func holdsBack() {
        var order = ClusterCommitOrder(applied: 4)
        #expect(order.receive([6], position: 6, at: 0) == [])
        #expect(order.receive([7], position: 7, at: 1) == [])
        #expect(order.receive([5], position: 5, at: 2) == [[5], [6], [7]])
        #expect(order.applied == 7)
    }

    @Test("what was applied is not applied again")
    func dropsOld() {
        var order = ClusterCommitOrder(applied: 4)
        #expect(order.receive([4], position: 4, at: 0) == [])
        #expect(order.receive([5], position: 5, at: 0) == [[5]])
        #expect(order.receive([5], position: 5, at: 0) == [])
    }

    @Test("the log is read if the predecessor does not come, and again if that did not help")
    func readsTheLog() {
        var order = ClusterCommitOrder()
        #expect(order.receive([2], position: 2, at: 100) == [])
        let tooEarly = order.needsLog(at: 299)
        #expect(!tooEarly)
        let due = order.needsLog(at: 300)
        #expect(due)
        let again = order.needsLog(at: 301)
        #expect(!again)
        let later = order.needsLog(at: 500)
        #expect(later)
        #expect(order.receive([1], position: 1, at: 501) == [[1], [2]])
        let late = order.needsLog(at: 10_000)
        #expect(!late)
    }

    @Test("a commit without its record is read from the log")
    func largeRecords() {
        var order = ClusterCommitOrder()
        #expect(order.receive([], position: 1, at: 0) == [])
        let due = order.needsLog(at: 200)
        #expect(due)
        #expect(order.receive([1], position: 1, at: 201) == [[1]])
    }

    @Test("this node's own commits take their places")
    func own() {
        var order = ClusterCommitOrder()
        #expect(order.receive([3], position: 3, at: 0) == [])
        #expect(order.receive([1], position: 1, at: 0) == [[1]])
        #expect(order.apply(own: 2, at: 0) == [[3]])
        #expect(order.applied == 3)
    }
}
