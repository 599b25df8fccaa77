import CLinux
import Glibc

/// Waits for sockets, a moment and signals, by epoll.
final class Poller {
    /// What a socket is ready for. An error or the peer's end shows as readable.
    struct Event {
        /// The number that ``add(_:tag:)`` was given.
        let tag: Int
        let isReadable: Bool
        let isWritable: Bool
    }

    private static let timerTag = UInt64.max
    private static let signalTag = UInt64.max - 1

    private let epoll: Int32
    private let timer: Int32
    private let signals: Int32
    private var ready = [epoll_event](repeating: epoll_event(), count: 512)
    private var wakeAt: UInt64 = 0

    /// From now on SIGINT and SIGTERM do not end the process: ``wait(until:)`` counts them.
    private(set) var signalCount = 0

    init() {
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, SIGINT)
        sigaddset(&mask, SIGTERM)
        sigprocmask(SIG_BLOCK, &mask, nil)
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        timer = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_NONBLOCK | TFD_CLOEXEC))
        signals = signalfd(-1, &mask, Int32(SFD_NONBLOCK | SFD_CLOEXEC))
        precondition(epoll >= 0 && timer >= 0 && signals >= 0, "no descriptors for epoll: \(Self.problem(errno))")
        control(EPOLL_CTL_ADD, timer, EPOLLIN.rawValue, Self.timerTag)
        control(EPOLL_CTL_ADD, signals, EPOLLIN.rawValue, Self.signalTag)
    }

    deinit {
        for descriptor in [epoll, timer, signals] { close(descriptor) }
    }

    /// Watches a socket, until it is closed.
    func add(_ socket: Int32, tag: Int) {
        control(EPOLL_CTL_ADD, socket, EPOLLIN.rawValue | EPOLLOUT.rawValue, UInt64(tag))
    }

    /// Whether to report that the socket is writable, too.
    func watch(_ socket: Int32, tag: Int, isForWriting: Bool) {
        control(EPOLL_CTL_MOD, socket, EPOLLIN.rawValue | (isForWriting ? EPOLLOUT.rawValue : 0), UInt64(tag))
    }

    /// Waits until a socket is ready, a signal arrives, or the moment has come.
    /// - Parameter moment: nanoseconds of the monotonic clock; above 0.
    func wait(until moment: UInt64) -> [Event] {
        if moment != wakeAt {
            var time = itimerspec()
            time.it_value = timespec(tv_sec: Int(moment / 1_000_000_000), tv_nsec: Int(moment % 1_000_000_000))
            timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &time, nil)
            wakeAt = moment
        }
        let count = epoll_wait(epoll, &ready, Int32(ready.count), -1)
        guard count > 0 else { return [] }
        return ready[..<Int(count)].compactMap { event(of: $0) }
    }

    private func event(of ready: epoll_event) -> Event? {
        switch ready.data.u64 {
        case Self.timerTag:
            var expirations: UInt64 = 0
            read(timer, &expirations, 8)
            wakeAt = 0
            return nil
        case Self.signalTag:
            var signal = signalfd_siginfo()
            while read(signals, &signal, MemoryLayout<signalfd_siginfo>.size) > 0 { signalCount += 1 }
            return nil
        case let tag:
            let failing = EPOLLERR.rawValue | EPOLLHUP.rawValue
            return Event(
                tag: Int(tag), isReadable: ready.events & (EPOLLIN.rawValue | failing) != 0,
                isWritable: ready.events & (EPOLLOUT.rawValue | failing) != 0)
        }
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32, _ tag: UInt64) {
        var event = epoll_event()
        event.events = events
        event.data.u64 = tag
        let result = epoll_ctl(epoll, operation, descriptor, &event)
        precondition(result == 0, "epoll_ctl: \(Self.problem(errno))")
    }

    /// The system's text for an error number.
    static func problem(_ error: Int32) -> String { String(cString: strerror(error)) }
}
