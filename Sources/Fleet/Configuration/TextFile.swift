import Glibc

/// Why a file could not be read.
package struct UnreadableFile: Error, Equatable {
    /// For example `No such file or directory`.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }

    /// A `readFile` function that throws as if no file existed.
    package static func missing(_ path: String) throws(UnreadableFile) -> String {
        throw UnreadableFile(reason: "No such file or directory")
    }
}

/// Reads small text files: the configuration, and the files that it names.
package enum TextFile {
    /// The most bytes in a file: more than any configuration needs, and few enough to keep in memory.
    static let bytesMax = 1_048_576

    /// The text of a regular file in UTF-8, without a byte order mark, which some editors put before it (U+FEFF; RFC 3629
    /// section 6): it would be a part of the secret, or be no PEM.
    package static func content(of path: String) throws(UnreadableFile) -> String {
        // Non-blocking, because opening a FIFO would otherwise wait for a writer. During a reload, SIGTERM could not
        // end that wait.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw systemFailure() }
        defer { close(descriptor) }
        try checkKind(of: descriptor)
        let bytes = try bytes(of: descriptor)
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard let text = String(validating: bytes.dropFirst(bytes.starts(with: mark) ? 3 : 0), as: UTF8.self) else {
            throw UnreadableFile(reason: "not UTF-8 text")
        }
        return text
    }

    /// The directory part of a path, with its final slash; empty if the path has no slash.
    static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    }

    /// Rejects everything but regular files: reading a device such as /dev/zero may never end.
    private static func checkKind(of descriptor: Int32) throws(UnreadableFile) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw systemFailure() }
        let found: String
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: found = "a directory"
        case S_IFIFO: found = "a FIFO"
        default: found = "a device"
        }
        throw UnreadableFile(reason: "expected a regular file, found \(found)")
    }

    private static func bytes(of descriptor: Int32) throws(UnreadableFile) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw systemFailure() }
            bytes += chunk[..<count]
            guard bytes.count <= bytesMax else { throw UnreadableFile(reason: "larger than 1 MiB") }
        }
    }

    private static func systemFailure() -> UnreadableFile {
        UnreadableFile(reason: String(cString: strerror(errno)))
    }
}
