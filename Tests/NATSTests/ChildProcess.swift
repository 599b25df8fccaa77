import Glibc

/// A program started by a test. Its standard error output can be read; it is killed by its process id.
final class ChildProcess: Sendable {
    let pid: pid_t
    /// The read end of its standard error output.
    let errors: Int32

    init(_ arguments: [String]) {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "pipe: errno \(errno)")
        // Not inherited by the programs that other tests start meanwhile, except in the moment before this.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var texts = arguments.map { strdup($0) } + [nil]
        defer { for text in texts { free(text) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, arguments[0], &actions, nil, &texts, environ)
        precondition(result == 0, "\(arguments[0]): \(String(cString: strerror(result)))")
        Glibc.close(ends[1])
        self.pid = pid
        errors = ends[0]
    }

    deinit { Glibc.close(errors) }

    func signal(_ number: Int32) { kill(pid, number) }

    /// Waits for its end.
    /// - Returns: whether it ended by itself without an error.
    @discardableResult
    func wait() -> Bool {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }

    /// Reads the errors until they contain a text.
    func readErrors(until text: String) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(errors, &buffer, buffer.count)
            guard count > 0 else { preconditionFailure("ended: \(String(decoding: bytes, as: UTF8.self))") }
            bytes += buffer[..<count]
            let output = String(decoding: bytes, as: UTF8.self)
            if output.contains(text) { return output }
        }
    }
}

/// A directory that is removed with its files.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/fleetwire-nats-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "mkdtemp: errno \(errno)")
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit { ChildProcess(["rm", "-r", path]).wait() }

    func write(_ text: String, to name: String) -> String {
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        return file
    }
}
