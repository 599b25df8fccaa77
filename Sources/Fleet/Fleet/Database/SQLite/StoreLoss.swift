import Glibc

/// That a file of the store is no longer at its path: it was moved, replaced or deleted while a gateway had it open. What the
/// gateway writes then reaches no file that the next start would open.
package struct StoreLoss: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Part: Sendable { case database, log }

    package let part: Part
    /// Whether there is another file now.
    package let isReplaced: Bool
    private let path: String

    /// Nil if the file at the path is the expected one. So is one that cannot be looked at, unless it is missing: a
    /// directory's permissions say nothing about the file.
    init?(_ part: Part, _ path: String, expected: FileIdentity?) {
        let found = FileIdentity(path: path)
        guard found != expected else { return nil }
        if found == nil, errno != ENOENT, errno != ENOTDIR { return nil }
        self.part = part
        isReplaced = found != nil
        self.path = path
    }

    /// `var/fleetwire.db-wal is gone`
    package var description: String { isReplaced ? "\(path) is another file now" : "\(path) is gone" }
}

/// Which file a path or a descriptor stands for.
struct FileIdentity: Equatable {
    private let device: UInt
    private let inode: UInt

    /// Nil if there is no such file, or it cannot be looked at; `errno` says why.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) { (device, inode) = (UInt(status.st_dev), UInt(status.st_ino)) }
}
