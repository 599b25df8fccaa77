import Glibc
import Synchronization
import Testing

@testable import Realtime

@Suite struct SystemdNotifierTests {
    /// A socket that receives notifications, at an abstract address if `isAbstract`.
    private final class Manager {
        private static let count = Atomic<Int>(0)
        let path: String
        private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)

        init(isAbstract: Bool) {
            let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
            path = (isAbstract ? "@" : "/tmp/") + "fleetwire-notify-\(getpid())-\(number)"
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { bytes in
                bytes.copyBytes(from: path.utf8)
                if isAbstract { bytes[0] = 0 }
            }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            precondition(result == 0, "bind: \(errno)")
        }

        deinit {
            close(descriptor)
            unlink(path)
        }

        /// The next message; nil if there is none.
        func message() -> String? {
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    private func notifier(_ environment: [String: String]) -> SystemdNotifier {
        SystemdNotifier { environment[$0] }
    }

    @Test(arguments: [false, true]) func sendsADatagramPerState(isAbstract: Bool) {
        let manager = Manager(isAbstract: isAbstract)
        let notifier = notifier(["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "2000000"])
        for state in [SystemdNotifier.State.migrating, .ready, .watchdog, .stopping] { notifier.send(state) }
        #expect(
            (0..<5).map { _ in manager.message() }
                == ["EXTEND_TIMEOUT_USEC=86400000000", "READY=1", "WATCHDOG=1", "STOPPING=1", nil])
    }

    @Test(arguments: [
        [:], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "x"], ["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"],
    ]) func sendsNoWatchdogMessageUnlessTheManagerExpectsIt(environment: [String: String]) {
        let manager = Manager(isAbstract: true)
        let notifier = notifier(environment.merging(["NOTIFY_SOCKET": manager.path]) { $1 })
        notifier.send(.watchdog)
        #expect(manager.message() == nil)
    }

    @Test func sendsTheWatchdogMessageOfItsOwnProcess() {
        let manager = Manager(isAbstract: true)
        notifier(["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1", "WATCHDOG_PID": "\(getpid())"]).send(.watchdog)
        #expect(manager.message() == "WATCHDOG=1")
    }

    @Test(arguments: ["", "/nowhere/notify", String(repeating: "x", count: 1_000), "@"])
    func ignoresAnUnreachableManager(path: String) {
        notifier(["NOTIFY_SOCKET": path]).send(.ready)
        notifier([:]).send(.ready)
    }

    @Test func aFullSocketDoesNotBlock() {
        let manager = Manager(isAbstract: true)
        let notifier = notifier(["NOTIFY_SOCKET": manager.path])
        for _ in 0..<10_000 { notifier.send(.ready) }
        #expect(manager.message() == "READY=1")
    }
}
