import Access

extension Settings {
    /// The index in `apps` of the app that has the fleet channels, such as `driver-42`.
    package var fleetAppIndex: Int {
        apps.firstIndex { $0.id == fleet.app } ?? 0
    }

    /// The app that has the fleet channels, and what becomes of the fleet's jobs.
    package struct Fleet: Equatable, Sendable {
        /// False: the gateway is a plain Pusher server, without the fleet's API, channel rules, pushes and store.
        package var enabled = true
        /// The app's id; empty: the first app.
        package var app = ""
        /// True: production permits channels to which anybody may subscribe.
        package var allowOpenChannels = false
        /// Days after which an open order or route on which nobody has acted is cancelled (0–3,650); 0: never.
        package var openDays = 30

        package init() {}
    }

    /// Who may subscribe to the fleet channels that a pattern matches.
    package struct ChannelRule: Equatable, Sendable {
        /// A plain channel name (without a prefix such as `private-`), or the beginning of such names and a final `*`.
        package var pattern: String
        package var access: ChannelPolicy.Access
        /// Whether the notifications of these channels are confirmed by their owners and replayed to them.
        package var durable: Bool
        /// Apps that never sign, and may subscribe to the plain names for a while.
        package var legacy: Legacy

        package init(pattern: String, access: ChannelPolicy.Access, durable: Bool = false, legacy: Legacy = Legacy()) {
            self.pattern = pattern
            self.access = access
            self.durable = durable
            self.legacy = legacy
        }

        /// The default: rules for the channels that existing client apps use.
        package static let defaults = [
            ChannelRule(pattern: "driver-*", access: .ownDriver, durable: true),
            ChannelRule(pattern: "drivers-channel", access: .anyDriver, durable: true),
            ChannelRule(pattern: "admin-channel", access: .admin),
            ChannelRule(pattern: "tracking-*", access: .booking),
            ChannelRule(pattern: "booking-*", access: .booking),
            ChannelRule(pattern: "customer-*", access: .ownCustomer, durable: true),
        ]
    }
}
