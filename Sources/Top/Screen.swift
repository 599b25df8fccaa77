import Primitives

/// The text of `fleetwire top`: what one screen shows.
package struct Screen {
    /// The gateway's URL.
    package var target: String
    /// The time of day, such as `2026-11-25 19:37:02`.
    package var time: String
    /// What is wrong; nil if the gateway answers.
    package var problem: String?
    /// The latest sample; nil before the first one.
    package var current: Sample?
    /// The sample before, for rates.
    package var earlier: Sample?

    package init(target: String, time: String, problem: String? = nil, current: Sample? = nil, earlier: Sample? = nil) {
        (self.target, self.time, self.problem, self.current, self.earlier) = (target, time, problem, current, earlier)
    }

    /// Takes a reading. If the gateway does not answer, the last figures stay.
    package mutating func take(_ reading: GatewayWatcher.Reading) {
        switch reading {
        case .sample(let sample):
            (earlier, current) = (current, sample)
            problem = nil
        case .problem(let text): problem = "The gateway \(text)"
        }
    }

    /// The lines, cut to a terminal's size. What is less important stands below, so a small terminal shows the rest.
    package func lines(width: Int, height: Int) -> [String] {
        var lines = [Self.spread("fleetwire top  \(target)", time, width)]
        if let problem { lines.append(problem) }
        if let current {
            lines += totals(current) + nodes(current) + [""] + lanes(current)
            lines += [""] + notifications(current) + [""] + loops(current)
        }
        return lines.prefix(height).map { line in
            var line = line.prefix(width)
            while line.last == " " { line.removeLast() }
            return String(line)
        }
    }

    // MARK: Sections

    private func totals(_ sample: Sample) -> [String] {
        let stats = sample.stats
        func count(_ path: String) -> String { stats[path]?.grouped ?? "-" }
        func rate(_ path: String, _ unit: (Int) -> String = { $0.grouped }) -> String {
            sample.rate(path, since: earlier).map { unit(Int($0.rounded())) + "/s" } ?? "-"
        }
        let queues = "\(count("store.writerQueue"))+\(count("store.readerQueue"))"
        var lines = [
            Self.line(
                "connections", [("now", count("connections")), ("opened", rate("opened")), ("closed", rate("closed"))]),
            Self.line(
                "channels", [("now", count("channels")), ("subscribed", count("subscriptions")), ("users", count("users"))]),
            Self.line("messages", [("in", rate("messages.received")), ("out", rate("messages.sent"))]),
            Self.line("bytes", [("in", rate("bytes.received") { $0.byteText }), ("out", rate("bytes.sent") { $0.byteText })]),
            Self.line("requests", [("now", requestRate(sample))] + requests(stats, "http.lastMinute")),
        ]
        if let before = stats["http.last15Minutes.requests"] {
            lines.append(Self.line("  in 15 min", [("all", before.grouped)] + requests(stats, "http.last15Minutes")))
        }
        lines.append(
            Self.line(
                "store",
                [
                    ("commands", rate("store.commands")), ("commits", rate("store.commits")), ("queues", queues),
                    ("failed", count("store.failed")),
                ]))
        let closes = stats.numbers(below: "closes").sorted { ($1.value, $0.name) < ($0.value, $1.name) }
        if !closes.isEmpty { lines.append(Self.line("closes", closes.prefix(4).map { ($0.name, $0.value.grouped) })) }
        return lines
    }

    /// The requests of all loops.
    private func requestRate(_ sample: Sample) -> String {
        var total = 0.0
        for index in sample.stats.indices(of: "loops", with: "loop") {
            guard let rate = sample.rate("loops.\(index).requests", since: earlier) else { return "-" }
            total += rate
        }
        return Int(total.rounded()).grouped + "/s"
    }

    /// Latencies and errors of a period; empty if the gateway does not tell.
    private func requests(_ stats: Figures, _ period: String) -> [(name: String, value: String)] {
        guard let errors = stats[period + ".errors"] else { return [] }
        let latencies = ["p50", "p99"].map { part in
            (name: part, value: stats["\(period).\(part)Ms"].map { "\($0.grouped) ms" } ?? "-")
        }
        return latencies + [(name: "errors", value: errors.grouped)]
    }

    /// What each node of a cluster has; empty without one.
    private func nodes(_ sample: Sample) -> [String] {
        guard !sample.nodes.isEmpty else { return [] }
        let header = ["node", "connections", "subscribed", "in/s", "out/s", "requests/s"]
        let rows = sample.nodes.indices.map { index in
            let node = "nodes.\(index)"
            return Self.row(
                [
                    Self.name(sample.nodes[index]), count(sample, "\(node).connections"),
                    count(sample, "\(node).subscriptions"), rate(sample, "\(node).messagesReceived"),
                    rate(sample, "\(node).messagesSent"), rate(sample, "\(node).requests"),
                ], Self.nodeWidths)
        }
        return ["", Self.row(header, Self.nodeWidths)] + rows
    }

    private func lanes(_ sample: Sample) -> [String] {
        let header = Self.row(["push lane", "state", "depth", "in flight"], Self.laneWidths) + "  last error"
        guard let push = sample.push else { return [header, "-"] }
        let rows = push.indices(of: "lanes", with: "lane").map { index in
            let lane = "lanes.\(index)"
            let cells = [
                push.text(lane + ".lane"), push.text(lane + ".state"), push[lane + ".depth"]?.grouped,
                push[lane + ".inFlight"]?.grouped,
            ]
            let until = push.text(lane + ".pausedUntil").map { "until \($0.timeOfDay): " } ?? ""
            return Self.row(cells.map { $0 ?? "-" }, Self.laneWidths)
                + "  \(until)\(push.text(lane + ".lastError.reason") ?? "-")"
        }
        return [header] + rows
    }

    private func loops(_ sample: Sample) -> [String] {
        let header = ["loop", "connections", "in/s", "out/s", "requests/s", "outbox", "mailbox"]
        let widths = sample.nodes.isEmpty ? Self.loopWidths : Self.nodeLoopWidths
        return [Self.row(header, widths)]
            + sample.stats.indices(of: "loops", with: "loop").map { index in
                let loop = "loops.\(index)"
                let number = count(sample, "\(loop).loop")
                return Self.row(
                    [
                        sample.stats.text("\(loop).node").map { "\(Self.name($0)) \(number)" } ?? number,
                        count(sample, "\(loop).connections"), rate(sample, "\(loop).messagesReceived"),
                        rate(sample, "\(loop).messagesSent"), rate(sample, "\(loop).requests"),
                        sample.stats["\(loop).outboxBytes"]?.byteText ?? "-", count(sample, "\(loop).mailbox"),
                    ], widths)
            }
    }

    private func count(_ sample: Sample, _ path: String) -> String { sample.stats[path]?.grouped ?? "-" }

    /// Per second, without the unit.
    private func rate(_ sample: Sample, _ path: String) -> String {
        sample.rate(path, since: earlier).map { Int($0.rounded()).grouped } ?? "-"
    }

    private func notifications(_ sample: Sample) -> [String] {
        let steps = ["created", "pushed", "received", "viewed", "accepted", "dismissed"]
        var lines = [Self.row(["notifications"] + steps, Self.funnelWidths)]
        for (label, period) in [("15 min", "last15Minutes"), ("hour", "lastHour"), ("day", "lastDay")] {
            let cells = steps.map { sample.stats["funnel.\(period).\($0)"]?.grouped ?? "-" }
            lines.append(Self.row(["  last " + label] + cells, Self.funnelWidths))
        }
        if let count = sample.stats["unconfirmed"] { lines.append("  unconfirmed now: \(count.grouped)") }
        return lines
    }

    // MARK: Layout

    /// Widths of columns; a negative one is aligned to the left.
    private static let laneWidths = [-15, -12, 10, 11]
    private static let loopWidths = [-6, 11, 11, 11, 13, 11, 9]
    private static let nodeWidths = [-22, 11, 11, 10, 10, 12]
    private static let nodeLoopWidths = [-22, 11, 9, 9, 11, 9, 9]
    private static let funnelWidths = [-14, 11, 11, 11, 11, 11, 11]

    /// A title and pairs of a name and a value, below those of other lines.
    private static func line(_ title: String, _ pairs: [(name: String, value: String)]) -> String {
        title.paddedRight(to: 14) + pairs.map { "\($0.name) \($0.value)".paddedRight(to: 17) }.joined()
    }

    /// A node's name, shortened to the width of its column.
    private static func name(_ node: String) -> String { node.count > 18 ? node.prefix(16) + ".." : node }

    private static func row(_ cells: [String], _ widths: [Int]) -> String {
        zip(cells, widths).map { $1 < 0 ? $0.paddedRight(to: -$1) : $0.paddedLeft(to: $1) }.joined()
    }

    private static func spread(_ left: String, _ right: String, _ width: Int) -> String {
        left + right.paddedLeft(to: max(right.count + 2, width - left.count))
    }
}

extension String {
    /// Of a time such as `2026-11-25T19:37:02.125Z` the part `19:37:02Z`; another text as it is.
    fileprivate var timeOfDay: String {
        let parts = split(separator: "T")
        guard parts.count == 2, parts[1].count >= 8, last == "Z" else { return self }
        return parts[1].prefix(8) + "Z"
    }
}
