import Glibc

/// The kernel's clocks: the monotonic one measures intervals, the wall clock gives dates.
package enum Clock {
    /// Nanoseconds since an arbitrary moment. Never decreases.
    package static func monotonicNanoseconds() -> UInt64 { read(CLOCK_MONOTONIC) }

    /// Milliseconds since an arbitrary moment. Never decreases.
    package static func monotonicMilliseconds() -> Int64 { Int64(monotonicNanoseconds() / 1_000_000) }

    /// Wall-clock milliseconds since 1970, UTC. May decrease: an operator or NTP can set the clock back.
    package static func unixMilliseconds() -> Int64 { Int64(read(CLOCK_REALTIME) / 1_000_000) }

    /// Milliseconds since the machine was started, including time in which it was suspended. Never decreases. The
    /// clock continues when the process is restarted, and starts again with the machine (``bootID``).
    package static func uptimeMilliseconds() -> Int64 { Int64(read(CLOCK_BOOTTIME) / 1_000_000) }

    /// Identifies the machine's current run, from its start to its next one. If the kernel does not tell, an id of this
    /// process: then nothing is known about time before the process was started.
    package static let bootID = kernelBootID() ?? "process \(getpid()) \(monotonicNanoseconds())"

    private static func kernelBootID() -> String? {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count > 0, let line = bytes[..<count].split(separator: UInt8(ascii: "\n")).first else { return nil }
        return String(decoding: line, as: UTF8.self)
    }

    private static func read(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
