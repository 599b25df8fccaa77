import Addresses
import FanOut
import HTTP
import Observability
import PusherAPI
import PusherProtocol
import Server

/// What runs on top of the Pusher server on one loop's thread. The node asks it at the few points where it takes part; the
/// path of an event has none.
package protocol NodeExtension: AnyObject {
    /// What it serves beside Pusher's HTTP API.
    var router: any RouterExtension { get }
    /// The patterns of all paths.
    var patterns: EndpointPatterns { get }

    /// Called once, before the loop serves.
    func start(on node: Node)

    // MARK: HTTP

    /// Performs an action.
    /// - Returns: the response; nil if it comes later (``Node/wait(_:for:secondsMax:)``).
    func perform(_ action: any ExtensionAction, _ request: PendingRequest, _ id: RequestID) -> HTTPResponse?
    /// Asks for what must be known before a request can be routed, which then calls ``Node/retry(_:route:otherwise:)``.
    /// - Returns: the queue that is full; nil if it is asked for.
    func learn(_ fact: any MissingFact, for id: RequestID) -> FullQueue?
    /// Counts a request of a client address.
    /// - Returns: the seconds until it may make one; nil if it may make this one.
    func secondsToWait(_ address: IPAddress, _ limit: AddressLimit) -> Int?
    /// Counts the rejection of a command because of a full queue.
    func countRejection(ofCommand name: String)
    /// A request to one of the extension's paths was refused.
    func refused(_ request: HTTPRequest, status: Int)
    /// The response to a request that has waited as long as it may.
    func unanswered(_ request: PendingRequest) -> HTTPResponse
    /// The client of a request that waits is gone.
    func abandoned(_ id: RequestID)

    // MARK: Subscriptions

    /// Takes over a subscription, which it opens later.
    /// - Returns: false if the node is to open it.
    func takes(_ socket: SocketID, _ grant: SubscriptionGrant, to app: Application) -> Bool
    /// The node has opened a subscription.
    func opened(_ socket: SocketID, _ channel: ChannelName, of app: Application)
    /// Cancels a subscription that it has taken over, because the client unsubscribes.
    /// - Returns: whether there was one.
    func cancels(_ socket: SocketID, _ channel: ChannelName) -> Bool
    /// Performs an instruction that concerns a channel's subscribers instead of the node.
    func perform(_ instruction: Instruction)
    /// A connection has closed.
    func closed(_ socket: SocketID)

    // MARK: Writing

    /// Whether something is to stand behind the next write to any connection.
    var hasMarks: Bool { get }
    /// What is to be written to a connection instead of a frame.
    func marked(_ frame: Frame, to socket: SocketID) -> Frame
    /// A client has answered a ping.
    func pongReceived(from socket: SocketID, _ payload: UnsafeRawBufferPointer)

    // MARK: Turns

    /// Handles a message of another thread.
    func receive(_ message: any ExtensionMessage)
    /// Does what it has put off by ``Node/later(_:)``.
    func perform(_ work: any ExtensionWork)
    /// A second has passed.
    func ticked()
    func turnEnded()

    // MARK: Operators

    /// Why the gateway accepts no clients; nil: it may.
    var problem: String? { get }
}

/// A message to the extension of a node, from another thread.
package protocol ExtensionMessage: Sendable {}

/// What the extension of a node puts off, so that other work comes in between.
package protocol ExtensionWork {}

/// What is kept of a request until its response.
package struct PendingRequest {
    /// The format of the path's errors; nil for lines of plain text.
    package let errorFormat: (any ErrorFormat)?
    let crossOriginHeaders: HTTPHeaders
    /// Nil while something must be learnt before the request is routed.
    var route: RoutedRequest?
    /// A copy of the head of a request that waits for that; nil for other requests.
    var deferred: DeferredRequest?
    /// Of a request without credentials: the network whose requests are counted together (``IPAddress/subscriber``). Nil if
    /// the client is gone.
    package var client: IPAddress?
    /// The last value of ``Node/now`` at which it may still wait; nil: its thread always answers.
    var waitsUntil: Int?

    /// An error response in the path's format.
    package func error(_ status: Int, _ text: String, summary: String? = nil, headers: HTTPHeaders = [:]) -> HTTPResponse {
        APIError(status, text, headers: headers, summary: summary).response(errorFormat)
    }

    /// 503 with the time to wait.
    package func unavailable(_ text: String, retryAfterSeconds: Int = 1) -> HTTPResponse {
        error(503, text, headers: ["Retry-After": String(retryAfterSeconds)])
    }
}
