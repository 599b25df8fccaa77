import TestSupport
import Testing

@testable import Addresses

@Suite struct AddressLimitsTests {
    private static let second: Int64 = 1_000_000_000
    private let one = IPAddress(ipv4: 1)
    private let other = IPAddress(ipv4: 2)

    @Test func withoutLimitsAdmitsAllAndStoresNothing() {
        var limits = AddressLimits(connectionsMax: 0, handshakesPerSecond: 0)
        for _ in 0..<1_000 { #expect(limits.decide(one, now: 0) == .admitted) }
        for _ in 0..<1_000 { limits.closed(one, now: 0) }
        #expect(limits.count == 0)
    }

    @Test func limitsTheOpenConnectionsOfEachAddress() {
        var limits = AddressLimits(connectionsMax: 2, handshakesPerSecond: 0)
        #expect((0..<3).map { _ in limits.decide(one, now: 0) } == [.admitted, .admitted, .connections])
        #expect(limits.decide(other, now: 0) == .admitted)
        limits.closed(one, now: 0)
        #expect((0..<2).map { _ in limits.decide(one, now: 0) } == [.admitted, .connections])
        #expect(limits.count == 2)
        for address in [one, one, other] { limits.closed(address, now: 0) }
        #expect(limits.count == 0)
    }

    @Test func aBurstOfOneSecondsHandshakesThenOnePerToken() {
        var limits = AddressLimits(connectionsMax: 0, handshakesPerSecond: 4)
        let start: Int64 = 77 * Self.second
        #expect((0..<6).map { _ in limits.decide(one, now: start) == .admitted } == [true, true, true, true, false, false])
        #expect(limits.decide(other, now: start) == .admitted)
        #expect(limits.decide(one, now: start + 249_999_999) == .handshakes)
        #expect(limits.decide(one, now: start + 250_000_000) == .admitted)
        #expect(limits.decide(one, now: start + 250_000_000) == .handshakes)
        #expect(
            (0..<5).map { _ in limits.decide(one, now: start + 9 * Self.second) == .admitted } == [true, true, true, true, false])
    }

    @Test func aRefusedHandshakeTakesNoToken() {
        var limits = AddressLimits(connectionsMax: 0, handshakesPerSecond: 1)
        #expect(limits.decide(one, now: 0) == .admitted)
        for now in stride(from: 0, to: Self.second, by: 1_000_000) { #expect(limits.decide(one, now: now) == .handshakes) }
        #expect(limits.decide(one, now: Self.second) == .admitted)
    }

    @Test func aRefusedConnectionTakesNoToken() {
        var limits = AddressLimits(connectionsMax: 1, handshakesPerSecond: 2)
        #expect((0..<9).map { _ in limits.decide(one, now: 0) }.suffix(8).allSatisfy { $0 == .connections })
        limits.closed(one, now: 0)
        #expect(limits.decide(one, now: 0) == .admitted)
        limits.closed(one, now: 0)
        #expect(limits.decide(one, now: 0) == .handshakes)
        #expect(limits.decide(one, now: Self.second) == .admitted, "a handshake that was refused left no connection behind")
    }

    @Test func countsAnIPv6NetworkOf64BitsAsOneAddress() throws {
        var limits = AddressLimits(connectionsMax: 2, handshakesPerSecond: 0)
        let addresses = try ["2001:db8::1", "2001:db8::ffff:1", "2001:db8::2", "2001:db8:0:1::1"].map {
            try #require(IPAddress($0))
        }
        #expect(addresses.map { limits.decide($0, now: 0) } == [.admitted, .admitted, .connections, .admitted])
        limits.closed(addresses[1], now: 0)
        #expect(limits.decide(addresses[2], now: 0) == .admitted)
    }

    /// Mapped into IPv6, all IPv4 addresses have the same first 64 bits.
    @Test func countsIPv4AddressesSeparately() {
        var limits = AddressLimits(connectionsMax: 1, handshakesPerSecond: 0)
        #expect([one, other, one].map { limits.decide($0, now: 0) } == [.admitted, .admitted, .connections])
    }

    @Test func forgetsAddressesWithoutConnectionsASecondAfterTheirLastHandshake() {
        var limits = AddressLimits(connectionsMax: 0, handshakesPerSecond: 10)
        for number in 0..<10_000 { _ = limits.decide(IPAddress(ipv4: UInt32(number)), now: 0) }
        #expect(limits.count == 10_000)
        for _ in 0..<5_000 { _ = limits.decide(one, now: 2 * Self.second) }
        #expect(limits.count == 1, "each decision forgets up to two, so 5,000 forget 10,000")
    }

    @Test func forgetsAnAddressWhoseLastConnectionClosesLate() {
        var limits = AddressLimits(connectionsMax: 9, handshakesPerSecond: 9)
        #expect(limits.decide(one, now: 0) == .admitted)
        #expect(limits.decide(other, now: 5 * Self.second) == .admitted)
        limits.closed(one, now: 9 * Self.second)
        limits.closed(other, now: 9 * Self.second)
        #expect(limits.count == 0)
    }

    /// Compares with the definition: at most `connectionsMax` open, and handshakes only as tokens allow; and stores no
    /// more addresses than are open or active in the last second or two.
    @Test(arguments: 0..<50) func decidesLikeTheDefinition(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let (connectionsMax, rate) = (random.below(4), random.below(6))
        var limits = AddressLimits(connectionsMax: connectionsMax, handshakesPerSecond: rate)
        var model: [IPAddress: (open: Int, tokens: Double, at: Int64)] = [:]
        var open: [IPAddress] = []
        var now: Int64 = 0
        for _ in 0..<500 {
            now += Int64(random.below(5)) * 50_000_000
            if random.chance(percent: 40), !open.isEmpty {
                let address = open.remove(at: random.below(open.count))
                limits.closed(address, now: now)
                model[address]?.open -= 1
                continue
            }
            let address = IPAddress(ipv4: UInt32(random.below(5)))
            var client = model[address] ?? (0, Double(rate), now)
            client.tokens = min(Double(rate), client.tokens + Double(now - client.at) / 1e9 * Double(rate))
            client.at = now
            var expected = AddressLimits.Decision.admitted
            if connectionsMax > 0, client.open >= connectionsMax {
                expected = .connections
            } else if rate > 0, client.tokens < 1 - 1e-6 {
                expected = .handshakes
            } else {
                client.open += 1
                client.tokens -= 1
                open.append(address)
            }
            model[address] = client
            #expect(limits.decide(address, now: now) == expected)
        }
        #expect(limits.count <= 5)
    }
}
