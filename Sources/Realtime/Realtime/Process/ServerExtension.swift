import FanOut
import Observability
import PusherAPI
import PusherProtocol
import Server
import Threads
import Webhooks

/// What runs on top of the Pusher server: how to make its parts. There is one ``ExtensionService`` in the process, and one
/// ``NodeExtension`` on each loop's thread.
package protocol ServerExtension: Sendable {
    /// The descriptors that it needs beside those of clients and webhooks.
    var descriptorCount: Int { get }
    /// Its kinds of webhook events, with their names in the configuration and in webhooks.
    var webhookKinds: [(name: String, kind: WebhookKinds)] { get }
    /// Its limits whose rejections are counted by ``NodeMetrics/countLimited(_:_:)``.
    var limits: [Limit] { get }
    /// The channels on which each node of a cluster publishes for its own connections only.
    var localChannels: Set<ChannelName> { get }
    /// What the names of some of an app's channels mean; nil if they mean no more than the protocol says.
    func channelRules(ofApp index: AppIndex) -> (any ChannelRules)?
    /// Decides who may subscribe to what.
    func makeGate(_ rules: [AppRules]) -> any HubGate
    /// Gets what the gate has reported (``Hub/report(_:)``), while the hub is locked.
    func gateHasReported(_ report: String)
    /// Answers a question that it has asked on another node.
    /// - Returns: nil if it is none of its questions.
    func answer(_ question: [UInt8], _ hub: SharedHub) -> [UInt8]?
    /// Starts its threads. Called once, before the loops start.
    /// - Throws: ``StartError`` if it cannot serve.
    func start(on server: ServerParts) throws(StartError) -> any ExtensionService
}

/// What the extension uses of the server.
package struct ServerParts: Sendable {
    package let hub: SharedHub
    package let metrics: NodeMetrics
    package let webhooks: WebhookWorker
    /// Nil unless the gateway is a node of a cluster.
    package let cluster: ClusterService?
    package let log: Log
}

/// The part of the extension that all loops share.
package protocol ExtensionService: AnyObject, Sendable {
    /// The signs of progress of those of its threads without which the gateway is of no use.
    var heartbeats: [Heartbeat] { get }
    /// The counters of the node for operators, as JSON.
    var stats: [UInt8] { get }
    /// The requests that wait for each of its threads.
    var queues: [(name: String, depth: Int)] { get }
    /// The rejections by limits that it counts itself.
    var rejections: [ExtensionRejections] { get }
    /// Its metrics.
    var families: [MetricFamily] { get }
    /// The sum of several nodes' counters.
    /// - Parameter answers: at least one.
    /// - Returns: nil if one of them is not what ``stats`` returns.
    func sum(ofStats answers: [[UInt8]]) -> [UInt8]?

    /// What the extension does on one loop's thread. Called on that thread.
    /// - Throws: ``StartError`` if a configured key is unusable.
    func makeNodeExtension(_ apps: [Application], loop: Int) throws(StartError) -> any NodeExtension

    // MARK: The end

    /// Accepts no more requests, and waits until all that follows from those that were accepted is in the mailboxes.
    /// - Parameter seconds: the longest time to wait.
    /// - Returns: whether that was long enough.
    func closeIntake(waiting seconds: Int) -> Bool
    /// Ends ``closeIntake(waiting:)`` at once.
    func abortIntake()
    /// Sends what waits for other services, and gives up what is left after so many seconds. Returns at once.
    func finish(withinSeconds seconds: Int)
    /// Waits until ``finish(withinSeconds:)`` is done.
    func wait()
    /// Ends its threads. Called after the last loop has stopped.
    /// - Parameter hasDrained: whether the loops have written all that was published.
    func stop(hasDrained: Bool)
}

/// Rejections by one limit, which the extension counts.
package struct ExtensionRejections {
    package let limit: String
    package let count: Int
    /// Whether they have a family of metrics of their own.
    package let haveFamily: Bool

    package init(_ limit: String, _ count: Int, haveFamily: Bool = false) {
        self.limit = limit
        self.count = count
        self.haveFamily = haveFamily
    }
}
