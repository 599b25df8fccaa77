import Access
import Configuration
import FanOut
import Fleet
import Observability
import PusherProtocol
import Realtime
import SMS
import Server
import Threads

/// What the fleet is made of. The server makes it at its start.
final class FleetExtension: ServerExtension {
    private let settings: Settings
    private let policy: ChannelPolicy
    private let publications = Publications()
    private let started = Lock<FleetService?>(nil)

    /// - Parameter settings: those of a gateway with a fleet.
    init(_ settings: Settings) {
        self.settings = settings
        // The rule of the operators' channel precedes those of the configuration, in which a pattern such as `*` could make
        // it public.
        policy = ChannelPolicy([ChannelPolicy.Rule(LiveStats.channel, .ops)] + settings.channels.map(ChannelPolicy.Rule.init))
    }

    /// What the start has made; nil before. It is not kept: the server has it, and closures of the server refer to this value.
    func takeService() -> FleetService? { started.withLock { $0.take() } }

    /// The connections to the SMS adapter, and those to the backend that knows opaque tokens.
    var descriptorCount: Int {
        (SMSAdapter(settings.otp) == nil ? 0 : SMSLimits.connectionsMax)
            + (settings.auth.introspection.isEnabled ? IntrospectionThread.connectionsMax : 0)
    }

    let limits = Limit.ofFleet

    let localChannels = LiveStats.localChannels

    let webhookKinds = WebhookKinds.namesOfFleet

    func channelRules(ofApp index: AppIndex) -> (any ChannelRules)? { index == settings.fleetAppIndex ? policy : nil }

    func makeGate(_ rules: [AppRules]) -> any HubGate { FleetAccess(rules) }

    func gateHasReported(_ id: String) { publications.add(recovered: id) }

    func answer(_ question: [UInt8], _ hub: SharedHub) -> [UInt8]? {
        AuthorizedConnection(question).map { hub.apply($0.input, ifHere: $0.socket) ? AuthorizedConnection.isHere : [] }
    }

    func start(on server: ServerParts) throws(StartError) -> any ExtensionService {
        let service = try FleetService(settings, policy, publications, server)
        started.withLock { $0 = service }
        return service
    }
}
