import Glibc
import Testing

@testable import HTTPClient

@Suite struct SendBufferBudgetTests {
    private func newSocket() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0) }

    @Test func socketWithTheSmallestBufferLimitsTheRoom() {
        let buffers = SendBufferBudget(bytesEach: 262_144)
        let sockets = [newSocket(), newSocket()]
        defer { for each in sockets { close(each) } }
        let unknown = buffers.room()
        buffers.add(sockets[0])
        let room = buffers.room()
        #expect(
            0 < unknown && unknown <= room && room < 262_144,
            "only three quarters of the kernel's buffer are used, and no more before a socket is known")
        buffers.add(sockets[1])
        var bytes: Int32 = 8_192
        setsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        #expect(buffers.room() < 16_384)
        buffers.remove(sockets[1])
        #expect(buffers.room() == room)
    }

    /// When libcurl closes a socket that is still connecting, it does not call the callback for closed sockets. The
    /// kernel may then reuse the socket's descriptor.
    @Test func dropsReusedDescriptors() {
        let buffers = SendBufferBudget(bytesEach: 262_144)
        let (own, other) = (newSocket(), newSocket())
        defer {
            close(own)
            close(other)
        }
        buffers.add(own)
        let room = buffers.room()
        var bytes: Int32 = 8_192
        setsockopt(other, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        dup2(other, own)
        #expect(buffers.room() == room)
    }

    @Test func withoutASizeTheRoomIsUnlimited() {
        let buffers = SendBufferBudget(bytesEach: nil)
        let own = newSocket()
        defer { close(own) }
        buffers.add(own)
        #expect(buffers.room() == .max)
    }
}
