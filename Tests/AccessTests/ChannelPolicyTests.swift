import PusherProtocol
import Testing

@testable import Access

/// Permissions on the fleet channels, derived from their names.
@Suite struct ChannelPolicyTests {
    private let policy = ChannelPolicy([
        .init("driver-*", .ownDriver), .init("drivers-channel", .anyDriver), .init("admin-channel", .admin),
        .init("tracking-*", .booking), .init("booking-*", .booking), .init("customer-*", .ownCustomer),
        .init("lobby-*", .open), .init("ops-channel", .ops),
    ])
    private let driver = Identity(role: .driver, id: "42", bookings: ["R1"])
    private let customer = Identity(role: .customer, id: "42", bookings: ["R1", "R2"])
    private let admin = Identity(role: .admin, id: "42", bookings: ["R1"])
    private let ops = Identity(role: .ops, id: "42", bookings: ["R1"])

    // MARK: Roles, rules and forms of a name

    /// Forms of a name that follow the same rule.
    private static let forms = ["", "private-", "private-encrypted-"]

    @Test(arguments: forms) func driversMayUseTheirOwnAndSharedChannels(form: String) {
        expect(
            driver, form,
            [
                "driver-42": .granted, "drivers-channel": .granted, "lobby-1": .granted,
                "tracking-R1": .ifAssigned(reference: "R1"), "tracking-R2": .ifAssigned(reference: "R2"),
                "booking-R1": .ifAssigned(reference: "R1"), "booking-R2": .ifAssigned(reference: "R2"),
                "booking-R9": .ifAssigned(reference: "R9"),
            ])
    }

    @Test(arguments: forms) func customersMayUseTheirOwnAndTheirBookingsChannels(form: String) {
        expect(
            customer, form,
            [
                "customer-42": .granted, "lobby-1": .granted, "tracking-R1": .granted, "tracking-R2": .granted,
                "booking-R1": .granted, "booking-R2": .granted,
            ])
    }

    @Test(arguments: forms) func opsMayUseTheirOwnChannelsOnly(form: String) {
        expect(ops, form, ["ops-channel": .granted])
    }

    @Test(arguments: forms + ["presence-", "cache-", "private-cache-"]) func adminsMayUseEveryChannel(form: String) {
        for name in Self.names { #expect(policy.permission(for: admin, on: channel(form + name)) == .granted, "\(form + name)") }
        #expect(policy.permission(for: admin, on: channel(form + "unlisted")) == .granted)
    }

    @Test func presenceChannelsRequireAdmin() {
        for name in Self.names + ["unlisted", "cache-driver-42"] {
            for identity in [driver, customer, ops] {
                #expect(policy.permission(for: identity, on: channel("presence-" + name)) == .denied, "\(identity.key) \(name)")
            }
        }
    }

    /// Expects the given permissions, and `.denied` for all other channels in ``names``.
    private func expect(_ identity: Identity, _ form: String, _ permissions: [String: ChannelPolicy.Permission]) {
        for name in Self.names {
            #expect(policy.permission(for: identity, on: channel(form + name)) == permissions[name] ?? .denied, "\(form + name)")
        }
    }

    private static let names = [
        "driver-42", "driver-7", "drivers-channel", "admin-channel", "tracking-R1", "tracking-R2", "booking-R1",
        "booking-R2", "booking-R9", "customer-42", "customer-7", "lobby-1", "ops-channel",
    ]

    // MARK: Channels without a rule

    @Test(arguments: [
        "news", "driver", "driver-", "Driver-42", "DRIVER-42", "drivers-channel-2", "drivers-channe", "cache-driver-42",
    ])
    func plainChannelsWithoutRuleAreOpen(name: String) {
        #expect(policy.isOpen(channel(name)))
        for identity in [driver, customer] { #expect(policy.permission(for: identity, on: channel(name)) == .granted) }
        #expect(policy.mirror(of: channel(name)) == nil)
        #expect(policy.reference(of: channel(name)) == nil)
    }

    @Test(arguments: [
        "private-news", "private-private-driver-42", "private-presence-driver-42", "private-encrypted-private-driver-42",
        "private-cache-driver-42", "private-encrypted-cache-driver-42", "private-Driver-42", "private-driver-",
        "private-drivers-channel-2",
    ])
    func signedChannelsWithoutRuleRequireAdmin(name: String) {
        #expect(!policy.isOpen(channel(name)))
        for identity in [driver, customer, ops] { #expect(policy.permission(for: identity, on: channel(name)) == .denied) }
        #expect(policy.permission(for: admin, on: channel(name)) == .granted)
        #expect(policy.mirror(of: channel(name)) == nil)
        #expect(policy.reference(of: channel(name)) == nil)
    }

    @Test func matchedChannelsFollowTheirRule() {
        for name in ["driver-42", "drivers-channel", "admin-channel", "tracking-R1", "booking-R1", "customer-42"] {
            #expect(!policy.isOpen(channel(name)), "\(name)")
        }
        #expect(policy.isOpen(channel("lobby-1")))
        #expect(!policy.isOpen(channel("private-lobby-1")), "signed channels are never open")
    }

    // MARK: Similar and canonically equivalent ids

    @Test(arguments: ["driver-4", "driver-420", "driver-42-", "driver-042", "driver-42.", "driver--42", "driver-@42"])
    func otherDriversChannelIsDenied(name: String) {
        for form in Self.forms { #expect(policy.permission(for: driver, on: channel(form + name)) == .denied, "\(form + name)") }
    }

    @Test func comparesIdsAsBytes() {
        let kelvinSign = Identity(role: .driver, id: "\u{212A}")
        #expect(policy.permission(for: kelvinSign, on: channel("driver-K")) == .denied)
        let greekQuestionMark = Identity(role: .customer, id: "\u{37E}", bookings: ["R\u{37E}"])
        #expect(policy.permission(for: greekQuestionMark, on: channel("customer-;")) == .denied)
        #expect(policy.permission(for: greekQuestionMark, on: channel("tracking-R;")) == .denied)
        #expect(policy.permission(for: Identity(role: .driver, id: "d"), on: channel("driver-D")) == .denied)
    }

    @Test func ignoresBookingsOfDrivers() {
        #expect(policy.permission(for: driver, on: channel("tracking-R1")) == .ifAssigned(reference: "R1"))
        #expect(policy.permission(for: driver, on: channel("customer-42")) == .denied)
        #expect(policy.permission(for: customer, on: channel("driver-42")) == .denied)
    }

    // MARK: Patterns

    @Test func firstMatchDecides() {
        let policy = ChannelPolicy([
            .init("driver-7", .admin), .init("driver-*", .anyDriver), .init("driver-42", .ownDriver), .init("*", .ownCustomer),
        ])
        #expect(policy.permission(for: driver, on: channel("driver-7")) == .denied)
        #expect(policy.permission(for: driver, on: channel("driver-42")) == .granted)
        #expect(policy.permission(for: driver, on: channel("driver-8")) == .granted)
        #expect(policy.permission(for: customer, on: channel("42")) == .granted)
        #expect(policy.permission(for: driver, on: channel("42")) == .denied)
    }

    @Test func starMatchesOneOrMoreTrailingCharacters() {
        let policy = ChannelPolicy([.init("a*", .admin), .init("b*c", .admin)])
        #expect(policy.isOpen(channel("a")))
        #expect(!policy.isOpen(channel("a-")))
        #expect(!policy.isOpen(channel("ab")))
        #expect(policy.isOpen(channel("bxc")), "a star that is not last matches only a star, which no channel name contains")
        #expect(policy.isOpen(channel("A1")))
    }

    @Test func withoutRulesPlainChannelsAreOpenAndSignedOnesAreNot() {
        let policy = ChannelPolicy([])
        #expect(policy.isOpen(channel("driver-42")))
        #expect(policy.permission(for: driver, on: channel("private-driver-42")) == .denied)
        #expect(policy.mirror(of: channel("driver-42")) == nil)
    }

    @Test func serverToUserChannelsAreDenied() {
        let own = channel("#server-to-user-driver-42")
        #expect(!policy.isOpen(own))
        #expect(policy.permission(for: driver, on: own) == .denied)
        #expect(policy.mirror(of: own) == nil)
        #expect(policy.reference(of: own) == nil)
        #expect(ChannelPolicy([.init("*", .booking)]).mirror(of: own) == nil)
    }

    // MARK: References

    @Test func referenceIsParsedFromEveryForm() {
        for form in Self.forms + ["presence-"] {
            for name in ["tracking-R1", "booking-R1"] { #expect(policy.reference(of: channel(form + name)) == "R1") }
            for name in ["driver-42", "drivers-channel", "lobby-1", "tracking-", "news"] {
                #expect(policy.reference(of: channel(form + name)) == nil, "\(form + name)")
            }
        }
        #expect(policy.reference(of: channel("tracking-tracking-R1")) == "tracking-R1")
    }

    // MARK: Mirrors

    @Test func plainAndPrivateFormsAreMirrors() {
        for name in ["driver-42", "drivers-channel", "admin-channel", "tracking-R1", "booking-R1", "customer-42", "lobby-1"] {
            #expect(policy.mirror(of: channel(name)) == channel("private-" + name))
            #expect(policy.mirror(of: channel("private-" + name)) == channel(name))
            #expect(policy.mirror(of: channel("private-encrypted-" + name)) == nil)
            #expect(policy.mirror(of: channel("presence-" + name)) == nil)
        }
    }

    @Test func namesAtTheLengthLimitHaveMirrors() throws {
        for length in [192, 193, 199, 200] {
            let plain = channel("driver-" + String(repeating: "x", count: length - 7))
            let signed = try #require(policy.mirror(of: plain))
            #expect(signed.text == "private-" + plain.text)
            #expect(policy.mirror(of: signed) == plain)
        }
        let signed = channel("private-driver-" + String(repeating: "x", count: 200 - 15))
        #expect(policy.mirror(of: signed)?.text.utf8.count == 192)
    }

    /// Whatever the pattern, the mirror of a channel's mirror is the channel itself.
    @Test(arguments: ["*", "private-*", "presence-*", "encrypted-*", "cache-*", "driver-*", "p*", "private-encrypted-x"])
    func mirroringIsSymmetric(pattern: String) {
        let policy = ChannelPolicy([.init(pattern, .ownDriver)])
        let prefixes = ["", "private-", "encrypted-", "private-encrypted-", "presence-", "cache-", "p"]
        for first in prefixes {
            for second in prefixes {
                for third in prefixes {
                    let name = channel(first + second + third + "driver-x")
                    guard let mirror = policy.mirror(of: name) else { continue }
                    #expect(policy.mirror(of: mirror) == name, "\(name.text) and \(mirror.text)")
                    #expect(mirror.text == "private-" + name.text || name.text == "private-" + mirror.text)
                    let accesses = [name.access, mirror.access]
                    #expect(accesses == [.open, .signed] || accesses == [.signed, .open], "\(name.text) and \(mirror.text)")
                }
            }
        }
    }

    // MARK: Other names

    static let otherNames: [(name: String, other: String?)] = [
        ("#server-to-user-driver-42", "#server-to-user-driver:42"), ("#server-to-user-admin-ann", "#server-to-user-admin:ann"),
        ("#server-to-user-driver:42", nil), ("#server-to-user-anna", nil), ("driver-42", nil), ("private-driver-42", nil),
    ]

    @Test(arguments: otherNames) func usersChannelsHaveAnotherSpelling(name: String, other: String?) {
        #expect(ChannelPolicy([]).userChannel(aliasedBy: channel(name))?.text == other)
    }

    @Test func operatorsChannelIsReservedInAllForms() {
        for prefix in ["", "private-", "private-encrypted-", "presence-", "cache-", "private-cache-", "presence-cache-"] {
            #expect(ChannelPolicy([]).isReserved(channel(prefix + "fleetwire-ops")), "\(prefix)")
        }
        for name in [
            "fleetwire-ops2", "Fleetwire-ops", "x-fleetwire-ops", "private-private-fleetwire-ops", "cache-cache-fleetwire-ops",
        ] {
            #expect(!ChannelPolicy([]).isReserved(channel(name)), "\(name)")
        }
    }
}

private func channel(_ text: String) -> ChannelName {
    guard let name = ChannelName(text, lengthMax: 256) else { preconditionFailure("invalid channel name: \(text)") }
    return name
}
