import JSON
import Observability

/// `GET /api/ops/stats`: what the node does now, per loop and per application, for people and their tools.
struct StatsResponse {
    let json: [UInt8]

    init(board: NodeMetrics, hub: SharedHub, fleet: FleetService, apps: [String]) {
        let census = hub.read { hub in apps.indices.map { hub.statistics(app: $0) } }
        let loops = board.counters
        var json = JSONWriter(capacity: 2_048)
        json.raw("{")
        json.members([
            ("connections", census.reduce(0) { $0 + $1.connections }), ("channels", census.reduce(0) { $0 + $1.channels }),
            ("subscriptions", census.reduce(0) { $0 + $1.subscriptions }), ("users", census.reduce(0) { $0 + $1.users }),
        ])
        json.raw(#","messages":"#)
        json.object([
            ("received", loops.reduce(0) { $0 + $1[.messagesReceived] }),
            ("sent", loops.reduce(0) { $0 + $1[.messagesSent] }),
        ])
        json.raw(#","bytes":"#)
        json.object([
            ("received", loops.reduce(0) { $0 + $1[.bytesReceived] + $1[.httpBytesReceived] }),
            ("sent", loops.reduce(0) { $0 + $1[.bytesSent] + $1[.httpBytesSent] }),
        ])
        json.raw(#","loops":["#)
        for (index, loop) in loops.enumerated() {
            if index > 0 { json.raw(",") }
            json.object(Self.members(loop, index, mailbox: hub.mailboxes[index].depth))
        }
        json.raw(#"],"apps":["#)
        for (index, (id, census)) in zip(apps, census).enumerated() {
            json.raw(index > 0 ? #",{"id":"# : #"{"id":"#)
            json.string(id)
            json.raw(",")
            json.members([
                ("connections", census.connections), ("channels", census.channels), ("subscriptions", census.subscriptions),
                ("users", census.users),
            ])
            json.raw("}")
        }
        json.raw(#"],"store":"#)
        let store = fleet.statistics
        json.object([
            ("commits", store.commits), ("commands", store.commands), ("unavailable", store.unavailable),
            ("failed", store.failed),
            ("writerQueue", store.queueDepth), ("readerQueue", fleet.readerDepth),
        ])
        json.raw(#","fleet":{"#)
        for (index, group) in fleet.counters.report().enumerated() {
            if index > 0 { json.raw(",") }
            json.string(group.name)
            json.raw(":")
            json.object(group.counts.map { ($0.name, $0.count) })
        }
        json.raw("}}")
        self.json = json.bytes
    }

    private static func members(_ loop: LoopCounters, _ index: Int, mailbox: Int) -> [(String, Int)] {
        [
            ("loop", index), ("connections", loop[.connected]), ("messagesReceived", loop[.messagesReceived]),
            ("messagesSent", loop[.messagesSent]), ("bytesReceived", loop[.bytesReceived]),
            ("bytesSent", loop[.bytesSent]), ("requests", loop[.httpRequests]), ("outboxBytes", loop[.outboxBytes]),
            ("mailbox", mailbox),
        ]
    }
}

extension JSONWriter {
    fileprivate mutating func object(_ members: [(String, Int)]) {
        raw("{")
        self.members(members)
        raw("}")
    }

    fileprivate mutating func members(_ members: [(String, Int)]) {
        for (index, member) in members.enumerated() {
            if index > 0 { raw(",") }
            string(member.0)
            raw(":")
            integer(member.1)
        }
    }
}
