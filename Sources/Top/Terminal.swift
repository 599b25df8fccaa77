import CLinux
import Glibc

/// The terminal on standard output, switched to its alternate screen. From now on, signals end
/// ``wait(milliseconds:)``, and Ctrl-Z does not suspend the program, because the terminal would stay switched.
package final class Terminal {
    /// What ended a wait.
    package enum Input { case nothing, resized, quit }

    private let signals: Int32
    private let earlierMode: termios?

    package init() {
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP] { sigaddset(&mask, signal) }
        sigprocmask(SIG_BLOCK, &mask, nil)
        signals = signalfd(-1, &mask, Int32(SFD_NONBLOCK | SFD_CLOEXEC))
        // Keys are read one by one and not shown; Ctrl-C still is a signal.
        var mode = termios()
        if tcgetattr(STDIN_FILENO, &mode) == 0 {
            earlierMode = mode
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        } else {
            earlierMode = nil
        }
        Self.write("\u{1B}[?1049h\u{1B}[?25l")
    }

    /// Shows the screen again that was there before.
    package func restore() {
        Self.write("\u{1B}[?25h\u{1B}[?1049l")
        if var mode = earlierMode { tcsetattr(STDIN_FILENO, TCSANOW, &mode) }
        close(signals)
    }

    /// Width and height in characters; 80 × 24 if the terminal does not tell.
    package var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Replaces what is shown, line by line, so that nothing flickers.
    package func show(_ lines: [String]) {
        let text = lines.map { "\($0)\u{1B}[K" }.joined(separator: "\n")
        Self.write("\u{1B}[H\(text)\u{1B}[J")
    }

    /// Waits for a signal or a key: `q` quits.
    package func wait(milliseconds: Int32) -> Input {
        var sources = [pollfd(fd: signals, events: Int16(POLLIN), revents: 0)]
        if earlierMode != nil { sources.append(pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)) }
        poll(&sources, nfds_t(sources.count), milliseconds)
        var signal = signalfd_siginfo()
        while read(signals, &signal, MemoryLayout<signalfd_siginfo>.size) > 0 {
            switch Int32(signal.ssi_signo) {
            case SIGWINCH: return .resized
            case SIGTSTP: continue
            default: return .quit
            }
        }
        if sources.count > 1, sources[1].revents != 0 {
            var key: UInt8 = 0
            // The end of the input means that the terminal is gone.
            if read(STDIN_FILENO, &key, 1) < 1 || key == UInt8(ascii: "q") { return .quit }
        }
        return .nothing
    }

    private static func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
