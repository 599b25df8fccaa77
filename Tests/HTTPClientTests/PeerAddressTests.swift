import Glibc
import Testing

@testable import HTTPClient

@Suite struct PeerAddressTests {
    /// Addresses of each reserved block, mostly its first and its last one.
    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
        "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0",
        "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.0", "192.88.99.255", "198.51.100.0", "198.51.100.255",
        "203.0.113.0", "203.0.113.255", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "224.0.0.0",
        "239.255.255.255",
        "240.0.0.0", "255.255.255.255",
        "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:169.254.169.254", "64:ff9b::127.0.0.1",
        "64:ff9b::192.168.1.1", "64:ff9b:1::1", "64:ff9b:1:ffff::8.8.8.8", "2001::1", "2002:7f00:1::1", "100::1",
        "100::ffff:ffff:ffff:ffff", "2001:db8::1", "2001:db8:ffff::1", "3fff::1", "fc00::1",
        "fdff:ffff::1", "fe80::1", "febf:ffff::1", "fec0::1", "feff::1", "ff00::", "ff02::1", "ffff::1",
    ]) func reservedAddressesAreNotPublic(text: String) throws {
        #expect(!(try #require(PeerAddress(text: text))).isPublic)
    }

    /// The addresses just before and just after the reserved blocks, and some other public addresses.
    @Test(arguments: [
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.1.255",
        "192.0.3.0", "192.88.98.255", "192.88.100.0", "198.51.99.255", "198.51.101.0",
        "203.0.112.255", "203.0.114.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "8.8.8.8",
        "::ffff:8.8.8.8", "::ffff:172.32.0.0", "64:ff9b::8.8.8.8", "64:ff9b:0:1::1", "64:ff9b:2::1", "2001:1::1", "100:0:0:1::1",
        "2001:db7::1", "2001:db9::1", "3ffe::1", "3fff:1000::1",
        "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "fbff:ffff::1", "fe00::1", "fe7f:ffff::1",
    ]) func neighboursOfReservedBlocksArePublic(text: String) throws {
        #expect((try #require(PeerAddress(text: text))).isPublic)
    }

    @Test(arguments: ["", "localhost", "127.1", "0x7f.0.0.1", "1.2.3.4.5", "fe80::1%eth0", "[::1]", "::ffff:1.2.3"])
    func rejectsInvalidAddresses(text: String) {
        #expect(PeerAddress(text: text) == nil)
    }

    @Test(arguments: ["192.0.2.1", "::1", "fe80::1:2", "255.0.0.255"]) func descriptionMatchesTheParsedText(text: String) {
        #expect(PeerAddress(text: text)?.description == text)
    }

    @Test func readsSocketAddressesOfBothFamilies() {
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = 0xFFFF
        four.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        withUnsafeBytes(of: four) { bytes in
            #expect(PeerAddress(socketAddress: bytes) == PeerAddress([127, 0, 0, 1]))
            #expect(PeerAddress(socketAddress: UnsafeRawBufferPointer(rebasing: bytes[..<7])) == nil, "truncated")
            #expect(PeerAddress(socketAddress: UnsafeRawBufferPointer(rebasing: bytes[..<1])) == nil, "truncated")
        }
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        (six.sin6_port, six.sin6_flowinfo, six.sin6_scope_id) = (0xFFFF, 0xFFFF_FFFF, 0xFFFF_FFFF)
        inet_pton(AF_INET6, "2606:4700::1111", &six.sin6_addr)
        withUnsafeBytes(of: six) { bytes in
            #expect(PeerAddress(socketAddress: bytes)?.description == "2606:4700::1111")
            #expect(PeerAddress(socketAddress: UnsafeRawBufferPointer(rebasing: bytes[..<23])) == nil, "truncated")
        }
        four.sin_family = sa_family_t(AF_UNIX)
        withUnsafeBytes(of: four) { #expect(PeerAddress(socketAddress: $0) == nil, "another family") }
    }
}
