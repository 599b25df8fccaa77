import FanOut
import Fleet
import JSON
import Observability
import Realtime

/// The response of `GET /api/ops/stats`: the node's current counts, per loop and per application, for people and
/// scripts.
struct StatsResponse {
    let json: [UInt8]

    init(_ fleet: FleetService) {
        let (metrics, hub, apps) = (fleet.server.metrics, fleet.server.hub, fleet.settings.apps.map(\.id))
        let statistics = hub.read { hub in apps.indices.map { hub.statistics(app: $0) } }
        let loops = metrics.loops
        let mailboxes = hub.mailboxes.map(\.depth)
        func total(_ summands: LoopMetric...) -> Int {
            loops.reduce(0) { sum, loop in summands.reduce(sum) { $0 + loop[$1] } }
        }
        let node = fleet.server.cluster?.node.name
        var json = JSONWriter(capacity: 2_048)
        json.object {
            for (name, count) in Self.hubCounts {
                $0.member(name, statistics.reduce(0) { $0 + $1[keyPath: count] })
            }
            $0.member("messages") {
                $0.member("received", total(.messagesReceived))
                $0.member("sent", total(.messagesSent))
            }
            $0.member("bytes") {
                $0.member("received", total(.bytesReceived, .httpBytesReceived))
                $0.member("sent", total(.bytesSent, .httpBytesSent))
            }
            $0.member("opened", total(.connectionsOpened))
            $0.member("closed", total(.connectionsClosed))
            $0.member("closes") { json in
                for close in metrics.closesByCode {
                    json.key(String(close.code))
                    json.integer(close.count)
                }
            }
            $0.member("slowConsumers", total(.slowConsumers))
            hub.refusals?.write(to: &$0)
            $0.member("http") { $0.requests(metrics) }
            $0.member("funnel") { $0.funnel(fleet.counters) }
            $0.member("perEvent") { $0.events(fleet.counters) }
            $0.member("unconfirmed", fleet.counters.unconfirmed)
            $0.member("loops", Array(loops.indices)) {
                $0.loop($1, of: node, loops[$1], requests: metrics.requests[$1].total, mailbox: mailboxes[$1])
            }
            if let node {
                // An array, so that the sum over all nodes has an element of each.
                $0.member("nodes", [node]) { json, node in
                    json.object {
                        $0.member("node", node)
                        for (name, count) in Self.hubCounts {
                            $0.member(name, statistics.reduce(0) { $0 + $1[keyPath: count] })
                        }
                        $0.member("opened", total(.connectionsOpened))
                        $0.member("closed", total(.connectionsClosed))
                        $0.member("messagesReceived", total(.messagesReceived))
                        $0.member("messagesSent", total(.messagesSent))
                        $0.member("requests", metrics.requests.reduce(0) { $0 + $1.total })
                        $0.member("outboxBytes", total(.outboxBytes))
                        $0.member("storeQueue", fleet.statistics.queueDepth + fleet.readerDepth)
                    }
                }
            }
            $0.member("apps", Array(zip(apps, statistics))) { json, app in
                json.object {
                    $0.member("id", app.0)
                    for (name, count) in Self.hubCounts { $0.member(name, app.1[keyPath: count]) }
                }
            }
            $0.member("legacy", fleet.legacy.counts) { json, rule in
                json.object {
                    $0.member("pattern", rule.pattern)
                    $0.member("connections", rule.count.connections)
                }
            }
            $0.member("store") { $0.store(fleet) }
            $0.member("push") { $0.push(fleet) }
            $0.member("fleet") { $0.counters(of: fleet) }
        }
        self.json = json.bytes
    }

    /// The counts of the whole node and of each application.
    private static var hubCounts: [(name: StaticString, KeyPath<Hub.AppStatistics, Int>)] {
        [("connections", \.connections), ("channels", \.channels), ("subscriptions", \.subscriptions), ("users", \.users)]
    }
}

extension JSONWriter {
    /// - Parameters:
    ///   - node: the name of the node of a cluster.
    ///   - mailbox: the number of messages that wait for the loop.
    fileprivate mutating func loop(_ index: Int, of node: String?, _ metrics: LoopMetrics, requests: Int, mailbox: Int) {
        object {
            $0.member("node", ifPresent: node)
            $0.member("loop", index)
            $0.member("connections", metrics[.connected])
            $0.member("messagesReceived", metrics[.messagesReceived])
            $0.member("messagesSent", metrics[.messagesSent])
            $0.member("bytesReceived", metrics[.bytesReceived])
            $0.member("bytesSent", metrics[.bytesSent])
            $0.member("requests", requests)
            $0.member("outboxBytes", metrics[.outboxBytes])
            $0.member("mailbox", mailbox)
        }
    }

    fileprivate mutating func requests(_ metrics: NodeMetrics) {
        for (name, seconds) in [("lastMinute", 60), ("last15Minutes", 900)] {
            let summary = metrics.requestSummary(seconds: seconds)
            key(name)
            object {
                $0.member("requests", summary.requests)
                $0.member("errors", summary.errors)
                $0.member("p50Ms", summary.p50Milliseconds ?? 0)
                $0.member("p99Ms", summary.p99Milliseconds ?? 0)
            }
        }
    }

    fileprivate mutating func funnel(_ counters: FleetCounters) {
        for (period, counts) in zip(NotificationFunnel.periods, counters.funnel) {
            member(period.name) { json in
                for (state, count) in zip(NotificationFunnel.states, counts) {
                    json.key(state.rawValue)
                    json.integer(count)
                }
            }
        }
    }

    /// Events by whether anybody was subscribed.
    fileprivate mutating func events(_ counters: FleetCounters) {
        for (name, audience) in counters.events {
            key(name)
            object {
                $0.member("subscribed", audience.subscribed)
                $0.member("none", audience.none)
            }
        }
    }

    fileprivate mutating func store(_ fleet: FleetService) {
        let statistics = fleet.statistics
        member("commits", statistics.commits)
        member("commands", statistics.commands)
        member("unavailable", statistics.unavailable)
        member("failed", statistics.failed)
        member("writerQueue", statistics.queueDepth)
        member("readerQueue", fleet.readerDepth)
    }

    /// Pushes of all lanes since the start; `queued` and `devices` are the present numbers.
    fileprivate mutating func push(_ fleet: FleetService) {
        member("queued", fleet.pushService.queuedCount)
        for outcome in PushCounters.Outcome.allCases {
            key(outcome.rawValue)
            integer(fleet.pushService.count(outcome))
        }
        let devices = fleet.statistics.devices
        member("devices") { json in
            for lane in PushLane.allCases {
                json.key(lane.rawValue)
                json.integer(devices[lane, default: 0])
            }
        }
    }

    fileprivate mutating func counters(of fleet: FleetService) {
        for group in fleet.counters.report() {
            key(group.name)
            object {
                for (name, count) in group.counts {
                    $0.key(name)
                    $0.integer(count)
                }
            }
        }
    }
}
