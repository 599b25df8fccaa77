import Access
import FanOut
import HubFixture
import PusherProtocol
import TestSupport
import Testing

/// Whether a recipient is subscribed to their own channel, so that a notification whose push mode is `fallback` needs
/// no push.
@Suite struct HubRecipientsTests {
    private static let own = name("driver-1")
    private var hub = Hub.ofFleet(loopCount: 2, apps: [.fleet])

    private var isListening: Bool { hub.isListening(driver("1"), on: Self.own, app: 0) }

    /// Opens a connection with one subscription, then applies `inputs` to it.
    private mutating func subscribe(_ text: String, _ channel: String, then inputs: (SocketID) -> FleetHubInput...) {
        _ = hub.apply(.opened(socket(text), app: 0), .subscribe(socket(text), grant(channel)))
        for input in inputs { _ = hub.apply(input(socket(text))) }
    }

    @Test mutating func recipientWithoutSubscribersIsNotListening() {
        #expect(!isListening)
        subscribe("1.1", "private-driver-2")
        #expect(!isListening)
    }

    /// Anybody may subscribe to a plain name that is open, so such a subscriber must not keep the driver's pushes back.
    @Test mutating func unsignedSubscriberIsNobody() {
        var rules = AppRules()
        rules.channels = ChannelPolicy([.init("driver-*", .open)])
        hub = Hub.ofFleet(loopCount: 2, apps: [rules])
        subscribe("1.1", "driver-1")
        #expect(!isListening)
        #expect(!hub.isConnected(driver("1"), on: Self.own, app: 0))
        subscribe("1.2", "driver-1", then: { .signin($0, user("driver:2")) })
        #expect(!isListening)
        subscribe("1.3", "driver-1", then: { .signin($0, user("driver:1")) })
        #expect(isListening)
        _ = hub.apply(.closed(socket("1.3")))
        #expect(!isListening)
        subscribe("1.4", "private-driver-1")
        #expect(isListening, "a backend has signed")
    }

    @Test mutating func subscriberForWhomABackendHasSignedCountsAsTheRecipient() {
        subscribe("1.1", "private-driver-1")
        #expect(isListening)
        _ = hub.apply(.unsubscribe(socket("1.1"), name("private-driver-1")))
        #expect(!isListening)
    }

    @Test mutating func otherIdentifiedUserDoesNotCount() {
        subscribe("1.1", "private-driver-1", then: { .signin($0, user("admin:anna")) })
        subscribe("1.2", "private-driver-1", then: { .authorized($0, driver("2")) }, { .signin($0, user("driver:2")) })
        #expect(!isListening)
        subscribe("1.3", "private-driver-1", then: { .authorized($0, driver("1")) })
        #expect(isListening)
        _ = hub.apply(.closed(socket("1.3")))
        #expect(!isListening)
    }

    @Test mutating func signedInOrIdentifiedRecipientCounts() {
        subscribe("1.1", "private-driver-1", then: { .signin($0, user("driver:1")) })
        #expect(isListening)
        _ = hub.apply(.closed(socket("1.1")))
        subscribe("1.2", "private-driver-1", then: { .authorized($0, driver("2")) }, { .authorized($0, driver("1")) })
        #expect(isListening)
    }

    // MARK: Compared with a search of all connections

    @Test(arguments: UInt64(1)...40)
    func matchesASearchOfAllConnections(_ seed: UInt64) throws {
        var history = History(seed: seed)
        var results = Set<Bool>()
        for step in 0..<600 {
            history.step()
            for id in History.ids {
                let isExpected = history.isExpected(id)
                results.insert(isExpected)
                #expect(history.isListening(id) == isExpected, "seed \(seed), step \(step), driver \(id)")
            }
        }
        try #require(results.count == 2, "the random steps must lead to both results")
    }
}

/// Random connections that subscribe, are identified, lose jobs and close, with a naive record of each.
private struct History {
    static let ids = ["1", "2"]
    /// Socket ids for the slots 0 to 2 of the loops 0 and 1: the second number is 2^24 times the loop, plus the slot.
    private static let sockets = [0, 1, 2, 16_777_216, 16_777_217, 16_777_218].map { socket("1.\($0)") }
    private static let channels =
        ["driver-1", "private-driver-1", "driver-2", "private-driver-2", "private-tracking-R", "lobby-1"]
    private static let users = ["driver:1", "driver:2", "admin:anna", "anna"]

    private struct Record {
        var channels: [Int: String] = [:]
        var user: String?
        /// The last four identities that the connection was given, oldest first. The hub keeps no more than four.
        var identities: [Identity] = []
    }

    private var dice: SplitMix
    private var hub = Hub.ofFleet(loopCount: 2, apps: [.fleet])
    private var connections: [SocketID: Record] = [:]

    init(seed: UInt64) { dice = SplitMix(seed: seed) }

    func isListening(_ id: String) -> Bool { hub.isListening(driver(id), on: name("driver-\(id)"), app: 0) }

    /// Whether driver `id` is listening according to the record.
    func isExpected(_ id: String) -> Bool {
        connections.values.contains { record in
            guard record.channels.values.contains(where: { $0 == "driver-\(id)" || $0 == "private-driver-\(id)" }) else {
                return false
            }
            let isAnonymous = record.user == nil && record.identities.isEmpty
            return isAnonymous && record.channels.values.contains("private-driver-\(id)") || record.user == "driver:\(id)"
                || record.identities.contains { $0.key == "driver:\(id)" }
        }
    }

    mutating func step() {
        guard let socket = Self.sockets.randomElement(using: &dice) else { return }
        guard connections[socket] != nil else {
            connections[socket] = Record()
            _ = hub.apply(.opened(socket, app: 0))
            return
        }
        let channel = Self.channels.randomElement(using: &dice) ?? ""
        switch Int.random(in: 0..<12, using: &dice) {
        case 0..<5: apply(.subscribe(socket, grant(channel)), on: channel)
        case 5, 6: apply(.unsubscribe(socket, name(channel)))
        case 7:
            let id = Self.users.randomElement(using: &dice) ?? ""
            if connections[socket]?.user == nil { connections[socket]?.user = id }
            apply(.signin(socket, user(id)))
        case 8: identify(driver("\(Int.random(in: 1...7, using: &dice))"), at: socket)
        case 9, 10: apply(.assigned("ORD-1", "R", Self.ids.randomElement(using: &dice)))
        default:
            apply(.closed(socket))
            connections[socket] = nil
        }
    }

    private mutating func identify(_ identity: Identity, at socket: SocketID) {
        if connections[socket]?.identities.contains(identity) == false {
            connections[socket]?.identities.append(identity)
            if connections[socket]?.identities.count == 5 { connections[socket]?.identities.removeFirst() }
        }
        apply(.authorized(socket, identity))
    }

    /// Applies an input, and records joins and leaves as the loops receive them.
    private mutating func apply(_ input: FleetHubInput, on channel: String = "") {
        for delivery in hub.apply(input) {
            switch delivery.instruction {
            case .join(let slot, let socket): connections[socket]?.channels[slot] = channel
            case .leave(let slot, let socket): connections[socket]?.channels[slot] = nil
            default: break
            }
        }
    }
}
