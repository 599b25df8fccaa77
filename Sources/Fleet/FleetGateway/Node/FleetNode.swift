import Access
import Addresses
import FanOut
import Fleet
import HTTP
import JWT
import Observability
import PusherAPI
import PusherProtocol
import Realtime
import Server
import Threads

/// The fleet's part of one loop: answers requests to the fleet's API, and replays to the owners of durable channels what
/// they have missed.
final class FleetNode: NodeExtension {
    let fleet: FleetService
    let fleetRouter: FleetRouter
    /// The index of the loop.
    let index: Int
    private unowned var startedNode: Node?
    var ownerReplay: OwnerReplay
    /// For the payloads of pings.
    var random = BlockRandom()
    /// Authorizations that are decided when this node knows what other nodes have committed.
    var undecidedAuthorizations: [RequestID: ChannelAuthorization] = [:]
    /// The frame before which those lie whose writing this loop has to confirm (``PublicationRounds``). Nil: none.
    private var publicationToConfirm: Int?
    /// The same requests as commands, of queries whose answers may need a write.
    var writings: [RequestID: IssuedCommand] = [:]

    init(_ fleet: FleetService, _ router: FleetRouter, loop: Int) {
        self.fleet = fleet
        fleetRouter = router
        index = loop
        ownerReplay = OwnerReplay(loop: loop, confirmSeconds: fleet.settings.delivery.confirmSeconds)
    }

    var node: Node {
        guard let startedNode else { preconditionFailure("the fleet's part of a node is used before its start") }
        return startedNode
    }

    func start(on node: Node) { startedNode = node }

    var router: any RouterExtension { fleetRouter }
    var patterns: EndpointPatterns { fleetRouter.patterns }

    // MARK: Turns

    func receive(_ message: any ExtensionMessage) {
        guard let message = message as? FleetMessage else { preconditionFailure("a message of no fleet: \(message)") }
        switch message {
        case .commandReply(let reply, let request): node.respond(to: request) { reply.response(in: $0) }
        case .queryReply(let reply, let request): respond(to: request, with: reply)
        case .cursor(let request, let cursor): later(.cursor(request: request, cursor))
        case .looked(let request): later(.decideAuthorization(request))
        case .page(let request, let page): replay { $0.answered(request, page: page, &$1) }
        case .confirmPublication: publicationToConfirm = node.fanOut.end
        case .keysFetched(let request, let seconds): later(.retry(request, afterSeconds: seconds))
        case .tokenAnswered(let request, let answer): later(.answerToken(request, answer))
        }
    }

    func perform(_ work: any ExtensionWork) {
        guard let work = work as? FleetWork else { preconditionFailure("work of no fleet: \(work)") }
        switch work {
        case .cursor(let request, let cursor): replay { $0.answered(request, cursor: cursor, &$1) }
        case .decideAuthorization(let request): decideAuthorization(of: request)
        case .retry(let request, let seconds): retry(request, retryAfterSeconds: seconds)
        case .answerToken(let request, let answer): retry(request, with: answer)
        case .endLegacy(let pattern): endLegacy(pattern)
        case .repeatRequests: repeatRequests()
        }
    }

    func later(_ work: FleetWork) { node.later(.custom(work)) }

    func ticked() {
        ownerReplay.ticked(now: Clock.unixMilliseconds())
        if ownerReplay.hasRequestsToRepeat { later(.repeatRequests) }
        guard index == 0 else { return }
        fleet.ticked()
        for pattern in fleet.legacy.tick(at: Clock.unixMilliseconds()) { endLegacy(pattern) }
        LiveStats.publish(on: node.hub, app: fleet.app) { fleet.stats }
    }

    func turnEnded() {
        if let end = publicationToConfirm, end <= node.fanOut.writtenEnd {
            publicationToConfirm = nil
            fleet.confirmPublication(loop: index)
        }
        replay { $0.storeReceipts(&$1) }
    }

    /// Ends the subscriptions of apps that never sign, whose time is over, one slice after the other.
    private func endLegacy(_ pattern: String) {
        node.apply(.endLegacy(pattern: pattern, app: fleet.app))
        if fleet.legacy.isEnding(pattern) { later(.endLegacy(pattern: pattern)) }
    }

    // MARK: Operators

    var problem: String? { fleet.storeProblem }
}

/// What the fleet's part of a loop puts off. Thousands may come together, and each applies an input to the hub.
enum FleetWork: ExtensionWork {
    /// Open the subscription with this cursor; nil if the store could not be written.
    case cursor(request: Int, Int64?)
    /// Decide one of ``FleetNode/undecidedAuthorizations``.
    case decideAuthorization(RequestID)
    /// Retry a request, because the fetch of its issuer's keys has ended.
    case retry(RequestID, afterSeconds: Int?)
    /// Route a request again with the answer about its opaque token.
    case answerToken(RequestID, AnsweredToken?)
    /// End further subscriptions of this rule.
    case endLegacy(pattern: String)
    /// Repeat requests to the store that it could not take.
    case repeatRequests
}
