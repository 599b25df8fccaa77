import CLinux
import Glibc

/// Core files: the memory of a process that crashed or aborted, with its secrets and what people sent.
package enum CoreDumps {
    /// Lets the kernel write none for this process (setrlimit(2), RLIMIT_CORE).
    ///
    /// - Parameter hidingMemory: also against a program that takes core dumps through a pipe, which that limit does not
    ///   bind (core(5)), and against other processes of the same user, which may then neither trace this one nor read its
    ///   environment (prctl(2), PR_SET_DUMPABLE). The kernel then gives the files of `/proc/PID` to root; the process itself
    ///   still reads those that ``ProcessStatistics`` needs.
    /// - Returns: what failed, with the system's reason; nil if nothing did.
    package static func forbid(hidingMemory: Bool) -> String? {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        guard setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 else {
            return "set RLIMIT_CORE: \(String(cString: strerror(errno)))"
        }
        guard !hidingMemory || linux_set_dumpable(0) == 0 else {
            return "set PR_SET_DUMPABLE: \(String(cString: strerror(errno)))"
        }
        return nil
    }
}
