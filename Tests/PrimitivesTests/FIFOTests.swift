import Primitives
import Testing

@Suite struct FIFOTests {
    @Test func returnsElementsInTheOrderOfTheirAppend() {
        var queue = FIFO<Int>()
        var next = 0
        // Grows by two and shrinks by one, so that removed elements lie before the others.
        for number in 0..<5_000 {
            queue.append(number * 2)
            queue.append(number * 2 + 1)
            #expect(queue.first == next && queue.popFirst() == next)
            next += 1
        }
        while let element = queue.popFirst() {
            #expect(element == next)
            next += 1
        }
        #expect(next == 10_000)
        #expect(queue.isEmpty)
    }

    @Test func acceptsElementsAfterItWasEmptied() {
        var queue = FIFO<Int>()
        #expect(queue.isEmpty && queue.first == nil && queue.popFirst() == nil)
        queue.append(1)
        #expect(!queue.isEmpty && queue.popFirst() == 1 && queue.isEmpty)
        queue.append(2)
        #expect(queue.popFirst() == 2 && queue.popFirst() == nil)
    }
}
