import Glibc

/// The database file, its directory, and a lock that admits one writing gateway.
final class StoreFile {
    let path: String
    private let lock: Int32

    /// Creates the directory (mode 0700) and the file (mode 0600; SQLite gives its log the same mode) if they are
    /// missing, and locks the store.
    init(path: String) throws(StoreError) {
        try Self.makeDirectory(of: path)
        self.path = path
        lock = try Self.takeLock(path)
        do throws(StoreError) {
            // Creates the file and closes the descriptor before SQLite opens the file. Closing any descriptor of the
            // file while SQLite has it open would release SQLite's POSIX locks on it.
            close(try Self.open(path, of: path))
        } catch {
            close(lock)
            throw error
        }
    }

    /// Releases the lock before it closes the descriptor: a child process, between its fork and its exec, has a copy of
    /// the descriptor, and would keep the lock until then. The lock file is not deleted: another gateway may have opened
    /// it already, and a third one would then create and lock a second file.
    deinit {
        flock(lock, LOCK_UN)
        close(lock)
    }

    private static func takeLock(_ path: String) throws(StoreError) -> Int32 {
        let descriptor = try open(path + ".lock", of: path)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let holder = holder(descriptor)
            close(descriptor)
            guard code == EWOULDBLOCK else { throw .unreachable(.file(path), detail: "\(path).lock: \(text(code))") }
            throw .inUse(.file(path), by: holder)
        }
        writeHolder(descriptor)
        return descriptor
    }

    /// Opens a file for reading and writing, and creates it if it is missing.
    /// - Parameter path: the database's path, for the error message.
    private static func open(_ file: String, of path: String) throws(StoreError) -> Int32 {
        let descriptor = Glibc.open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unreachable(.file(path), detail: "\(file): \(text(errno))") }
        return descriptor
    }

    /// Creates the missing directories of a path (mode 0700).
    static func makeDirectory(of path: String) throws(StoreError) {
        var end = path.startIndex
        while let slash = path[end...].firstIndex(of: "/") {
            end = path.index(after: slash)
            let directory = path[..<end]
            // stat first: mkdir of an existing directory fails with EACCES or EROFS if its parent is not writable.
            var status = stat()
            guard stat(String(directory), &status) != 0, mkdir(String(directory), 0o700) != 0, errno != EEXIST else { continue }
            throw .unreachable(.file(path), detail: "\(directory): \(text(errno))")
        }
    }

    /// The bytes of a store's file and of its write-ahead log; 0 if there is none.
    static func sizes(path: String) -> (file: Int, log: Int) { (size(path), size(path + "-wal")) }

    private static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    // MARK: Lock holder

    /// Writes the process id into the lock file, for the error message of a second gateway. The lock itself is set with
    /// `flock`.
    private static func writeHolder(_ descriptor: Int32) {
        let text = "process \(getpid())\n"
        _ = ftruncate(descriptor, 0)
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }

    /// The text that the gateway that has the lock wrote into the lock file: `process 7`; nil if the file contains no
    /// text.
    private static func holder(_ descriptor: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 40)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 1, let line = bytes[..<count].split(separator: UInt8(ascii: "\n")).first else { return nil }
        return String(decoding: line, as: UTF8.self)
    }

    private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
