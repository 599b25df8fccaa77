import Testing

@testable import Addresses

@Suite struct RequestWindowsTests {
    private var windows = RequestWindows(most: 3, milliseconds: 10_000, addressesMax: 8)

    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test mutating func permitsSoManyRequestsInAnyWindow() throws {
        let one = try address("192.0.2.1")
        for time: Int64 in [0, 4_000, 8_000] { #expect(windows.wait(one, now: time) == nil) }
        #expect(windows.wait(one, now: 8_001) == 2)
        #expect(windows.wait(one, now: 9_999) == 1)
        #expect(windows.wait(one, now: 10_000) == nil, "the first is out of the window")
        #expect(windows.wait(one, now: 10_001) == 4, "refused requests do not count")
        #expect(windows.wait(try address("192.0.2.2"), now: 10_001) == nil)
    }

    @Test mutating func aNetworkOfIPv6IsOneAddress() throws {
        for host in 1...3 { #expect(windows.wait(try address("2001:db8::\(host)"), now: 0) == nil) }
        #expect(windows.wait(try address("2001:db8::ffff:1"), now: 0) != nil)
        #expect(windows.wait(try address("2001:db8:0:1::1"), now: 0) == nil)
    }

    @Test mutating func theNumberOfAddressesIsBounded() throws {
        let busy = try address("192.0.2.1")
        for number in 0..<1_000 {
            if number < 3 { #expect(windows.wait(busy, now: 0) == nil) }
            if number % 3 == 0, number >= 3 { #expect(windows.wait(busy, now: 0) != nil, "who goes on is not forgotten") }
            _ = windows.wait(try address("10.0.\(number / 256).\(number % 256)"), now: 0)
            #expect(windows.count <= 8)
        }
    }
}
