import CSQLite
import Glibc

/// A copy of the store in one file, made while a gateway runs. It has one state of all tables, and nothing that was
/// deleted.
package enum Backup {
    /// Copies the store into a new file (mode 0600), and checks the copy. What is not complete has the name of the file and
    /// `.part`; an interrupted backup leaves it, and the next one replaces it.
    ///
    /// The copy is one long read: commits continue, and the write-ahead log grows meanwhile.
    /// - Parameter now: milliseconds since 1970.
    /// - Returns: the size of the copy in bytes, and whether the gateway can learn of it by ``lastTime(of:)``.
    /// - Throws: ``BackupError``
    package static func copy(_ path: String, to file: String, at now: Int64) throws(BackupError) -> (bytes: Int, isNoted: Bool) {
        guard access(file, F_OK) != 0 else { throw .exists(file) }
        try write(path, to: file, by: file + ".part")
        try sync(directory(of: file))
        var status = stat()
        return (stat(file, &status) == 0 ? Int(status.st_size) : 0, note(now, of: path))
    }

    // MARK: The last backup

    /// The file beside the store that has the time of the last backup: a backup is another process, and the store may be
    /// too damaged to tell.
    private static func noteFile(of path: String) -> String { path + ".backed-up" }

    /// Notes that a backup that began at this time is complete and checked. The content, some digits, is written at once.
    private static func note(_ time: Int64, of path: String) -> Bool {
        let descriptor = open(noteFile(of: path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let digits = Array("\(time)".utf8)
        return Glibc.write(descriptor, digits, digits.count) == digits.count
    }

    /// When the state that the last good backup of a store contains was read, in milliseconds since 1970; nil: unknown, or
    /// there is none.
    package static func lastTime(of path: String) -> Int64? {
        let descriptor = open(noteFile(of: path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var digits = [UInt8](repeating: 0, count: 20)
        let count = read(descriptor, &digits, digits.count)
        return count > 0 ? Int64(String(decoding: digits[..<count], as: UTF8.self)) : nil
    }

    /// Writes the copy under the name `part`, and then gives it its own.
    private static func write(_ path: String, to file: String, by part: String) throws(BackupError) {
        let lock = try claim(part, store: path)
        defer {
            remove(part)
            close(lock)
        }
        try copyTables(of: path, to: part)
        try check(part)
        try sync(part)
        // Unlike `rename`, it does not replace a file that was made meanwhile.
        guard link(part, file) == 0 else {
            throw errno == EEXIST ? .exists(file) : .unwritable(file, String(cString: strerror(errno)))
        }
    }

    /// Creates and locks an empty file.
    /// - Returns: the descriptor that has the lock.
    private static func claim(_ file: String, store: String) throws(BackupError) -> Int32 {
        try removeLeftover(file, store: store)
        let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw errno == EEXIST ? .busy(file) : .unwritable(file, String(cString: strerror(errno)))
        }
        var (opened, present) = (stat(), stat())
        // Before it was locked, another backup may have taken it for the leftover of an interrupted one.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &opened) == 0, stat(file, &present) == 0,
            opened.st_ino == present.st_ino
        else {
            close(descriptor)
            throw .busy(file)
        }
        return descriptor
    }

    /// Removes the name of what an interrupted backup has left. Its content stays as it is: if the backup ended between
    /// its last two steps, the finished copy is the same file.
    private static func removeLeftover(_ file: String, store: String) throws(BackupError) {
        let descriptor = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return }
            throw .unwritable(file, String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        var (found, ofStore) = (stat(), stat())
        guard fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG else {
            throw .unwritable(file, "it is not a file")
        }
        if stat(store, &ofStore) == 0, ofStore.st_ino == found.st_ino, ofStore.st_dev == found.st_dev {
            throw .unwritable(file, "it is the store")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .busy(file) }
        remove(file)
    }

    /// Removes an incomplete copy, and the journal that SQLite keeps beside it.
    private static func remove(_ part: String) {
        unlink(part)
        unlink(part + "-journal")
    }

    private static func copyTables(of path: String, to file: String) throws(BackupError) {
        let source: Database
        do { source = try Database.open(readingFrom: .file(path)) } catch { throw .store(error) }
        do {
            // "If the file is to be created by VACUUM INTO, it must not already exist or must be an empty file".
            try source.run("VACUUM INTO '\(SQLiteConnection.name(of: file).replacing("'", with: "''"))'")
        } catch  where error.kind == .full {
            throw .unwritable(file, "the disk is full")
        } catch {
            throw .store(StoreError(error, .file(path)))
        }
    }

    private static func check(_ file: String) throws(BackupError) {
        var findings: [String] = []
        do {
            let copy = try SQLiteConnection(path: file, .reading)
            try copy.prepare("PRAGMA integrity_check(1)").run([]) { row throws(DatabaseError) in findings.append(row.string(0)) }
        } catch  where error.kind == .damaged {
            findings = [error.message]
        } catch {
            throw .unwritable(file, error.message)
        }
        guard findings == ["ok"] else { throw .damaged(findings.joined(separator: "; ")) }
    }

    /// Waits until the disk has stored a file or a directory.
    private static func sync(_ path: String) throws(BackupError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        guard descriptor >= 0, fsync(descriptor) == 0 else { throw .unwritable(path, String(cString: strerror(errno))) }
    }

    private static func directory(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }
}

/// Why there is no backup. The operator reads the word "cannot" followed by ``description``.
package enum BackupError: Error, Equatable, Sendable, CustomStringConvertible {
    case exists(String)
    case unwritable(String, String)
    /// Another backup writes the same file.
    case busy(String)
    /// The copy did not pass SQLite's check.
    case damaged(String)
    case store(StoreError)

    package var description: String {
        switch self {
        case .exists(let file): "write \(file): the file exists. Name another one, or delete it."
        case .unwritable(let file, let reason): "write \(file): \(reason)"
        case .busy(let file): "write \(file): another backup is writing it. Wait for it, or name another file."
        case .damaged(let detail):
            "back up: the copy is damaged (\(detail)). The store may be, too: keep the last good backup."
        case .store(let error): "\(error)"
        }
    }
}
