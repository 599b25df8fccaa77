import Access
import FanOut
import PusherProtocol
import TestSupport

/// The fleet of a run: its channel rules, its users, and its orders' drivers.
struct SimulatedFleet {
    /// By application; nil for applications without fleet channels.
    let rules: [[ChannelPolicy.Rule]?]
    /// Fleet channels, with and without access prefixes such as `private-`.
    let channels: [ChannelName]

    // Only few ids, so that the steps of a run often concern the same driver or job.
    static let driverIDs = ["1", "2", "3"]
    static let references = ["R1", "R2", "R3"]
    static let codes = ["A", "B", "C", "D"]
    /// What clients call their devices; many do not say.
    static let devices = ["", "phone", "tablet"]
    private static let userIDs = ["driver:1", "customer:1", "driver:2", "admin:1", "driver:3", "ops:1", "driver:", "root:1"]

    init(appCount: Int, using dice: inout SplitMix) {
        rules = (0..<appCount).map { app in
            // Most other applications have no fleet channels.
            app == 0 || dice.chance(percent: 25) ? Self.rules(using: &dice) : nil
        }
        channels = Self.channels(using: &dice)
    }

    /// Rules like those of the default configuration. Some seeds put another rule first, or add one for all other
    /// channels. Most channels that have owners are durable.
    private static func rules(using dice: inout SplitMix) -> [ChannelPolicy.Rule] {
        var rules: [(pattern: String, access: ChannelPolicy.Access)] = [
            ("driver-*", .ownDriver), ("drivers-channel", .anyDriver), ("admin-channel", .admin),
            ("tracking-*", .booking), ("booking-*", .booking), ("customer-*", .ownCustomer), ("lobby-*", .open),
            ("ops-channel", .ops),
        ]
        if dice.chance(percent: 25) { rules.insert(("driver-1", .anyDriver), at: 0) }
        if dice.chance(percent: 15) { rules.append(("*", .admin)) }
        return rules.map {
            .init($0.pattern, $0.access, isDurable: $0.access.hasOwners && dice.chance(percent: 70))
        }
    }

    private static func channels(using dice: inout SplitMix) -> [ChannelName] {
        var texts: [String] = []
        for _ in 0..<dice.within(2...8) {
            let name = dice.pick(names) ?? ""
            let forms = dice.chance(percent: 50) ? ["", "private-"] : [dice.pick(forms) ?? ""]
            for text in forms.map({ $0 + name }) where !texts.contains(text) { texts.append(text) }
        }
        return texts.compactMap { ChannelName($0, lengthMax: 200) }
    }

    private static let names =
        references.flatMap { ["tracking-\($0)", "tracking-\($0)", "booking-\($0)"] }
        + [
            "driver-1", "driver-1", "driver-2", "drivers-channel", "admin-channel", "customer-1", "lobby-1", "ops-channel",
            "encrypted-1",
        ]
    private static let forms = [
        "", "private-", "private-", "private-encrypted-", "presence-", "private-private-", "private-cache-", "cache-",
        "private-presence-",
    ]

    // MARK: Random choices

    /// Ids of users who sign in. Most have the form `role:id`, which the sign-in endpoint signs; some have other forms.
    static func users(using dice: inout SplitMix) -> [String] {
        let first = dice.below(userIDs.count)
        return (0..<dice.within(1...3)).map { userIDs[(first + $0) % userIDs.count] }
    }

    /// The identity in a user's token. Tokens of the same user may differ in name or bookings.
    static func identity(using dice: inout SplitMix) -> Identity {
        let role: Role =
            switch dice.below(10) {
            case 0: .admin
            case 1: .ops
            case 2, 3: .customer
            default: .driver
            }
        let bookings = references.filter { _ in dice.chance(percent: role == .customer ? 40 : 5) }
        let name = dice.chance(percent: 20) ? "Anna" : nil
        return Identity(role: role, id: dice.pick(driverIDs) ?? "", name: name, bookings: bookings)
    }

    /// An assignment of an order, usually with the order's current reference.
    static func assignment(of jobs: [ReferenceModel.Job], using dice: inout SplitMix) -> FleetAccess.JobAssignment {
        let code = dice.pick(codes) ?? ""
        let currentReference = jobs.first { $0.code == code }?.reference
        let reference = currentReference.flatMap { dice.chance(percent: 80) ? $0 : nil } ?? dice.pick(references) ?? ""
        let driverID = dice.chance(percent: 80) ? dice.pick(driverIDs) : nil
        return FleetAccess.JobAssignment(orderCode: code, reference: reference, driverID: driverID)
    }
}
