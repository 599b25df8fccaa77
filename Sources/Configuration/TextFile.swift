import Glibc

/// Why a file could not be read.
package struct UnreadableFile: Error, Equatable {
    /// In words, such as `No such file or directory`.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }

    /// Stands for a file system without files.
    package static func always(_ path: String) throws(UnreadableFile) -> String {
        throw UnreadableFile(reason: "No such file or directory")
    }
}

/// Small text files: the configuration, and the secrets it points to.
enum TextFile {
    /// Far above any configuration, far below what would hurt.
    static let bytesMax = 1_048_576

    static func content(of path: String) throws(UnreadableFile) -> String {
        // Else the opening of a FIFO waits for somebody who writes to it, and no signal would end the process meanwhile.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw systemFailure() }
        defer { close(descriptor) }
        try checkKind(of: descriptor)
        let bytes = try bytes(of: descriptor)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UnreadableFile(reason: "not UTF-8 text")
        }
        return text
    }

    /// The part of a path that relative paths beside it start from: empty, or ending in a slash.
    static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    }

    /// What is no file ends when somebody else wants it to, or never, as `file:/dev/zero`.
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
