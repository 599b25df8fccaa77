import FanOut
import Testing

@testable import Cluster

@Suite("Pages of all nodes' connections")
struct ConnectionPageTests {
    /// A connection that was opened at this time; the second number stands for its node.
    private static func entry(_ time: Int, _ node: Int, bytes: Int = 2) -> ConnectionPage.Entry {
        ConnectionPage.Entry(position: position(time, node), json: Array(repeating: UInt8(ascii: "x"), count: bytes))
    }

    private static func position(_ time: Int, _ node: Int) -> Hub.ConnectionPosition {
        guard let position = Hub.ConnectionPosition("\(time)-\(node).0") else { preconditionFailure("the text is a position") }
        return position
    }

    /// A node's part of a page, as the node makes it.
    private static func part(_ entries: [ConnectionPage.Entry], after: Hub.ConnectionPosition?, limit: Int) -> ConnectionPage {
        let behind = entries.filter { entry in
            after.map { Hub.ConnectionPosition.precedes($0, entry.position) } ?? true
        }.sorted { Hub.ConnectionPosition.precedes($0.position, $1.position) }.prefix(limit)
        return ConnectionPage(Array(behind), next: behind.count == limit ? behind.last?.position : nil)
    }

    @Test("have each connection once, newest first, whatever their size", arguments: 1...12)
    func pages(limit: Int) {
        let nodes = [
            [Self.entry(9, 1), Self.entry(7, 1), Self.entry(7, 11), Self.entry(1, 1)], [],
            [Self.entry(8, 2), Self.entry(7, 2), Self.entry(6, 2), Self.entry(5, 2), Self.entry(4, 2)], [Self.entry(3, 3)],
        ]
        var found: [ConnectionPage.Entry] = []
        var after: Hub.ConnectionPosition?
        repeat {
            let page = ConnectionPage(joining: nodes.map { Self.part($0, after: after, limit: limit) }, limit: limit)
            #expect(page.entries.count <= limit && (page.next != nil || page.entries.count > 0 || !found.isEmpty))
            found += page.entries
            after = page.next
        } while after != nil
        #expect(found == Self.part(nodes.flatMap { $0 }, after: nil, limit: 100).entries)
    }

    @Test("end where a part does that goes on, even if its connections have closed meanwhile")
    func closedMeanwhile() {
        let part = ConnectionPage([], next: Self.position(5, 1))
        let other = ConnectionPage([Self.entry(6, 2), Self.entry(4, 2)], next: Self.position(4, 2))
        let page = ConnectionPage(joining: [part, other], limit: 2)
        #expect(page == ConnectionPage([Self.entry(6, 2)], next: Self.position(5, 1)))
    }

    @Test("end with the list")
    func end() {
        let page = ConnectionPage(joining: [ConnectionPage([Self.entry(1, 1)], next: nil)], limit: 1)
        #expect(page == ConnectionPage([Self.entry(1, 1)], next: nil))
        #expect(ConnectionPage(joining: [], limit: 1) == ConnectionPage([], next: nil))
    }

    private static let samples = [
        ConnectionPage([], next: nil), ConnectionPage([], next: position(5, 1)),
        ConnectionPage([entry(6, 2), entry(4, 2, bytes: 0)], next: position(4, 2)),
    ]

    @Test("are read as they were written", arguments: samples)
    func roundTrip(page: ConnectionPage) {
        #expect(page.parts.count == 1)
        #expect(ConnectionPage(page.parts[0]) == page)
    }

    @Test("that are large are written in parts that the bus takes")
    func largePages() {
        let page = ConnectionPage((0..<100).map { Self.entry(200 - $0, 1, bytes: 30_000) }, next: Self.position(101, 1))
        #expect(page.parts.count > 1 && page.parts.allSatisfy { $0.count < 1_000_000 })
        #expect(ConnectionPage(page.parts.flatMap { $0 }) == page)
    }

    @Test("that are cut never crash, and are other pages or none", arguments: samples)
    func cut(page: ConnectionPage) {
        let bytes = page.parts[0]
        for count in 0..<bytes.count { #expect(ConnectionPage(Array(bytes.prefix(count))) != page) }
    }

    @Test("of something else are none")
    func foreign() {
        var writer = ByteWriter(capacity: 32)
        writer.append(optional: "no position")
        #expect(ConnectionPage(writer.bytes) == nil)
        writer = ByteWriter(capacity: 32)
        writer.append(optional: nil)
        writer.append(text: "no position")
        writer.append(block: [1])
        #expect(ConnectionPage(writer.bytes) == nil)
    }

    @Test("positions move with the clock, and keep their order")
    func clocks() {
        let position = Self.position(5, 1)
        #expect(position.advanced(by: 7) == Self.position(12, 1))
        #expect(position.advanced(by: .max).advanced(by: .min).advanced(by: 1) == position)
        #expect(Hub.ConnectionPosition.precedes(Self.position(12, 1), position))
    }
}
