import Glibc

/// What the kernel says about this process, under the names that Prometheus recommends for it
/// (prometheus.io/docs/instrumenting/writing_clientlibs, "Process metrics").
package enum ProcessStatistics {
    /// The families of the moment of the call. It reads small files of /proc, which takes microseconds.
    package static var families: [MetricFamily] {
        [
            MetricFamily(
                "process_cpu_seconds_total", .counter, "CPU time of all threads, user and system, in seconds.", cpuSeconds),
            MetricFamily("process_resident_memory_bytes", .gauge, "Memory in RAM, in bytes.", residentBytes),
            MetricFamily("process_open_fds", .gauge, "Open file descriptors of the process.", openDescriptors),
            MetricFamily(
                "process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.", startTime),
        ]
    }

    static var cpuSeconds: Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }

    static var residentBytes: Int {
        // The second number of statm is the resident set in pages (proc(5)).
        let pages = read("/proc/self/statm").split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    static var openDescriptors: Int {
        // Since Linux 6.2, the size of the folder is the number of descriptors. Before, it was 0.
        var attributes = stat()
        if stat("/proc/self/fd", &attributes) == 0, attributes.st_size > 0 { return Int(attributes.st_size) }
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count - 3  // without ".", ".." and the descriptor of the folder itself
    }

    /// Seconds since 1970. Computed once: an operator who sets the clock does not change when the process started.
    static let startTime: Double = {
        // The name of the program, in parentheses, may contain spaces. The 20th number after it is the start of the
        // process in clock ticks after the machine's (proc(5), field 22).
        let fields = read("/proc/self/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 19, let ticks = Double(fields[19]) else { return seconds(CLOCK_REALTIME) }
        return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }()

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The first kilobyte of a file; empty if it cannot be read.
    private static func read(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 1_024) { buffer, count in
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
