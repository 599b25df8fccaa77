import Primitives

/// Connections of a loop that wait for a write, by slot, first in, first out.
struct WriteQueue {
    /// - frame: the number of the first frame that can be for the connection, see ``PendingFrames``.
    private var elements: [(slot: Int32, frame: Int)] = []
    /// The index in `elements` of the queue's first element.
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    /// No connection in the queue waits for a frame before this one. Nil if the queue is empty.
    var oldestFrame: Int? { isEmpty ? nil : elements[head].frame }

    /// - Parameter frame: must not be less than that of an earlier element.
    mutating func append(_ slot: Int, frame: Int) { elements.append((Int32(slot), frame)) }

    /// Gives back memory. Call it when the queue is empty.
    mutating func releaseMemory() { _ = elements.releaseSpareCapacity() }

    /// The slot of the first connection; nil if the queue is empty.
    var first: Int? { isEmpty ? nil : Int(elements[head].slot) }

    /// Removes the first connection. The queue must not be empty.
    mutating func removeFirst() {
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
    }
}
