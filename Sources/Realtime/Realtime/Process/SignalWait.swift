import Glibc

/// Receives SIGTERM, SIGINT and SIGHUP synchronously, so that they do not interrupt threads. Ignores SIGPIPE, because a
/// write to a closed socket also reports an error.
struct SignalWait: Sendable {
    private let set: sigset_t

    init() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        self.set = set
    }

    /// Blocks until one of the signals arrives, and returns its number.
    func wait() -> Int32 {
        var set = set
        var number: Int32 = 0
        while sigwait(&set, &number) != 0 {}
        return number
    }

    /// Blocks until SIGTERM or SIGINT. A stopping gateway ignores SIGHUP.
    func waitForEnd() { while wait() == SIGHUP {} }
}
