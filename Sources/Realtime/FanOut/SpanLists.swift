import Primitives

/// Lists of spans, one list per connection, all in one array: so a connection's list needs no allocation.
struct SpanLists {
    typealias Span = PendingFrames.Span

    /// A list: the indices of its first and last node, or -1 while it is empty.
    struct List {
        fileprivate var first: Int32 = -1
        fileprivate var last: Int32 = -1

        var isEmpty: Bool { first < 0 }
    }

    private struct Node {
        var span: Span
        /// The index of the list's next node, or of the next free node; -1 for none.
        var next: Int32
    }

    private var nodes: [Node] = []
    private var free: Int32 = -1

    /// The last span of a list that is not empty.
    subscript(lastOf list: List) -> Span {
        get { nodes[Int(list.last)].span }
        set { nodes[Int(list.last)].span = newValue }
    }

    /// The only span of a list; nil if the list has none or several.
    func onlySpan(of list: List) -> Span? { list.isEmpty || list.first != list.last ? nil : nodes[Int(list.first)].span }

    func forEach(in list: List, _ body: (Span) -> Void) {
        var index = list.first
        while index >= 0 {
            body(nodes[Int(index)].span)
            index = nodes[Int(index)].next
        }
    }

    mutating func append(_ span: Span, to list: inout List) {
        var index = free
        if index >= 0 {
            free = nodes[Int(index)].next
            nodes[Int(index)] = Node(span: span, next: -1)
        } else {
            index = Int32(nodes.count)
            nodes.append(Node(span: span, next: -1))
        }
        if list.isEmpty { list.first = index } else { nodes[Int(list.last)].next = index }
        list.last = index
    }

    /// Gives back the memory of the nodes. Call it when all lists are empty.
    mutating func releaseMemory() {
        guard nodes.capacity.isSpare(for: 0) else { return }
        (nodes, free) = ([], -1)
    }

    /// Empties the list. Its nodes are reused.
    mutating func removeAll(of list: inout List) {
        guard !list.isEmpty else { return }
        nodes[Int(list.last)].next = free
        free = list.first
        list = List()
    }
}
