import FanOut
import PusherProtocol

@testable import Cluster

// Fixtures for the tests of the link.

func name(_ text: String) -> ChannelName {
    guard let name = ChannelName(text, lengthMax: 200) else { preconditionFailure("invalid channel name") }
    return name
}

/// A link with one application, `app`, and what its calls have put out since the last ``take()``.
struct LinkFixture {
    static let heartbeat: Int64 = 2_000
    /// The token of a link's first channel.
    static let first: UInt64 = 1

    var link: ClusterLink
    var outputs: [ClusterLink.Output] = []

    init(_ name: String = "me", epoch: UInt64 = 1, reportsShares: Bool = false, at start: Int64 = 0) {
        var rules = AppRules()
        if reportsShares {
            rules.webhooks = .all
            rules.subscriptionCounts = true
        }
        link = ClusterLink(
            name: "c", node: ClusterNode(name: name, epoch: Epoch(epoch)), apps: [ClusterLink.App(id: "app", rules)],
            heartbeatMilliseconds: Self.heartbeat, now: start)
    }

    /// A link that is connected, has heard a heartbeat of each of the `others` at 0, and has agreed with them about the
    /// shares.
    static func up(_ others: [UInt64] = [], reportsShares: Bool = false) -> LinkFixture {
        let start = -heartbeat
        var fixture = LinkFixture(reportsShares: reportsShares, at: start)
        fixture.link.start(&fixture.outputs)
        fixture.link.connected(at: start, &fixture.outputs)
        for other in others { fixture.hear(other, .heartbeat(name: "n\(other)", []), at: start) }
        fixture.agree(others, at: start)
        fixture.tick(0)
        for other in others { fixture.hear(other, .heartbeat(name: "n\(other)", []), at: 0) }
        _ = fixture.take()
        return fixture
    }

    // MARK: Calls

    mutating func want(_ channel: String, loop: Int = 0, at now: Int64) -> Bool {
        link.want(name(channel), app: 0, loop: loop, at: now, &outputs)
    }

    mutating func changed(_ change: Hub.ClusterChange) { link.changed(change, app: 0, &outputs) }

    mutating func tick(_ now: Int64) { link.tick(at: now, &outputs) }

    /// Passes all ticks up to a time.
    mutating func tick(from start: Int64, to end: Int64) { for now in stride(from: start, through: end, by: 100) { tick(now) } }

    /// The numbers of the messages that the other nodes have sent.
    private var numbers: [UInt64: UInt64] = [:]

    /// A message of another node comes, with the next number and no number before it.
    /// - Parameter token: the subject's; nil: that of all nodes.
    mutating func hear(_ node: UInt64, _ body: ClusterMessage.Body, token: UInt64? = nil, before: UInt64 = 0, at now: Int64) {
        var message = ClusterMessage(sender: Epoch(node), body)
        numbers[node, default: 0] += 1
        (message.number, message.numberBefore) = (numbers[node] ?? 0, before)
        link.received(message.bytes, token: token ?? ClusterLink.nodesToken, at: now, &outputs)
    }

    /// Nodes name the digests of the shares that this node has heard of them.
    mutating func agree(_ nodes: [UInt64], at now: Int64) {
        for node in nodes {
            let digest = link.kept.digest(of: Epoch(node)).value
            hear(node, .sharesDigest(digest), token: ClusterLink.nodeToken, at: now)
        }
    }

    /// A node reports a change of its share of a channel.
    mutating func hear(_ node: UInt64, _ change: ShareChange, of channel: String, _ report: ShareReport, at now: Int64) {
        let key = ChannelKey(app: "app", channel: channel)
        hear(node, .share(key, change, report), token: ClusterLink.nodeToken, at: now)
    }

    /// All outputs since the last call.
    mutating func take() -> [ClusterLink.Output] {
        link.flush(&outputs)
        defer { outputs = [] }
        return outputs
    }
}

extension [ClusterLink.Output] {
    var subscribed: [UInt64] { compactMap { if case .subscribe(_, let token) = $0 { token } else { nil } } }
    var unsubscribed: [UInt64] { compactMap { if case .unsubscribe(let token) = $0 { token } else { nil } } }
    /// The loops whose subscriptions may go on.
    var ready: [Int] { compactMap { if case .ready(_, _, let loop) = $0 { loop } else { nil } } }
    var came: [String] { compactMap { if case .came(let node) = $0 { node.name } else { nil } } }
    var went: [String] { compactMap { if case .went(let node, _) = $0 { node.name } else { nil } } }
    var gaps: Int { count { if case .gap = $0 { true } else { false } } }
    var answered: [Questions.Result] { compactMap { if case .answered(let result) = $0 { result } else { nil } } }

    /// What is told to webhooks.
    var webhooks: [WebhookEvent] { compactMap { if case .webhook(let event) = $0 { event.event } else { nil } } }

    /// The messages, and to which subjects. Bundles are unpacked.
    var published: [(subject: String, body: ClusterMessage.Body)] {
        flatMap { output -> [(subject: String, body: ClusterMessage.Body)] in
            guard case .publish(let subject, let bytes) = output, let message = ClusterMessage(bytes) else { return [] }
            guard case .several(let bodies) = message.body else { return [(subject, message.body)] }
            return bodies.map { (subject, $0) }
        }
    }

    /// The questions for members, by the subject of the asked node.
    var membersQuestions: [String] {
        published.compactMap { if case .membersQuestion = $0.body { $0.subject } else { nil } }
    }

    /// The inputs to the hub that concern members: `+id` and `-id`.
    var members: [String] {
        compactMap { output in
            switch output {
            case .hub(.remoteMemberJoined(let member, _, _)): "+\(member.id)"
            case .hub(.remoteMemberLeft(let userID, _, _)): "-\(userID)"
            default: nil
            }
        }
    }

    /// The number of events for the hub to publish.
    var events: Int { count { if case .hub(.publish) = $0 { true } else { false } } }
}
