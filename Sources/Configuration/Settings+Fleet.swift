extension Settings {
    /// The place in `apps` of the app that carries the fleet channels.
    package var fleetAppIndex: Int {
        apps.firstIndex { $0.id == fleet.app } ?? 0
    }

    /// Which app carries the fleet channels.
    package struct Fleet: Equatable, Sendable {
        /// The app's id; empty: the first app.
        package var app = ""

        package init() {}
    }

    /// Who may subscribe to some of the fleet's channels, and whether their events outlive a connection.
    package struct ChannelRule: Equatable, Sendable {
        /// A plain channel name, without `private-` and the like, or the beginning of names, followed by `*`.
        package var pattern: String
        /// Who may subscribe.
        package var access: Access
        /// True: events wait for a subscriber who is away.
        package var durable: Bool

        package init(pattern: String, access: Access, durable: Bool = false) {
            self.pattern = pattern
            self.access = access
            self.durable = durable
        }

        /// Who may subscribe. Admins may to all of them.
        package enum Access: String, CaseIterable, Sendable {
            /// Everybody.
            case open
            /// The driver whose id stands in the place of `*`.
            case ownDriver = "own-driver"
            /// Every driver.
            case anyDriver = "any-driver"
            /// Nobody else.
            case admin
            /// Who takes part in the booking whose reference stands in the place of `*`.
            case booking
            /// The customer whose id stands in the place of `*`.
            case ownCustomer = "own-customer"

            /// Whether somebody or something stands in the place of `*`, so that the pattern needs one.
            package var needsWildcard: Bool {
                switch self {
                case .ownDriver, .booking, .ownCustomer: true
                case .open, .anyDriver, .admin: false
                }
            }
        }

        /// The channels that existing apps use.
        package static let contract = [
            ChannelRule(pattern: "driver-*", access: .ownDriver, durable: true),
            ChannelRule(pattern: "drivers-channel", access: .anyDriver),
            ChannelRule(pattern: "admin-channel", access: .admin),
            ChannelRule(pattern: "tracking-*", access: .booking),
            ChannelRule(pattern: "booking-*", access: .booking),
            ChannelRule(pattern: "customer-*", access: .ownCustomer, durable: true),
        ]
    }
}
