import Glibc

/// The database file, its directory, and the locks that admit one writing gateway.
///
/// There are two locks. That of the side file (`.lock`) names its holder. That of the database file itself holds if the side
/// file is deleted, and whatever the path through which another process opens the file.
final class StoreFile {
    let path: String
    private let lock: Int32
    /// The database file, with its lock.
    private let database: Int32
    private let identity: FileIdentity?
    /// The write-ahead log's file; nil until ``watchLog()``.
    private var log: (descriptor: Int32, identity: FileIdentity?)?

    /// Creates the directory (mode 0700) and the file (mode 0600; SQLite gives its log the same mode) if they are
    /// missing, and locks the store.
    init(path: String) throws(StoreError) {
        try Self.makeDirectory(of: path)
        self.path = path
        lock = try Self.takeLock(path)
        do throws(StoreError) {
            database = try Self.openLocked(path)
        } catch {
            close(lock)
            throw error
        }
        identity = FileIdentity(descriptor: database)
        Self.writeHolder(lock)
    }

    /// Releases the locks before it closes the descriptors: a child process, between its fork and its exec, has copies of
    /// the descriptors, and would keep the locks until then. The lock file is not deleted: another gateway may have opened
    /// it already, and a third one would then create and lock a second file.
    ///
    /// The database's descriptor is not closed before, because closing any descriptor of a file releases all POSIX locks that
    /// the process has on it, and SQLite's are such locks. All connections of a gateway are closed by now.
    deinit {
        if let log { close(log.descriptor) }
        Self.setLock(of: database, Int16(F_UNLCK))
        close(database)
        flock(lock, LOCK_UN)
        close(lock)
    }

    // MARK: Locks

    /// The locked byte of the database file: far behind those that SQLite locks (at 1 GiB), and behind any content.
    private static let lockedByte: off_t = 1 << 62
    /// F_OFD_SETLK, which Swift does not import; the same on all of Linux's architectures.
    private static let setOpenFileLock: Int32 = 37

    /// Opens the database file, creates it if it is missing, and locks it with a lock of the open file description (fcntl(2)),
    /// which unlike POSIX locks does not go when the process closes another descriptor of the file.
    private static func openLocked(_ path: String) throws(StoreError) -> Int32 {
        let descriptor = try open(path, of: path)
        guard setLock(of: descriptor, Int16(F_WRLCK)) else {
            let code = errno
            close(descriptor)
            guard code == EAGAIN || code == EACCES else { throw .unreachable(.file(path), detail: "\(path): \(text(code))") }
            throw .inUse(.file(path), by: nil)
        }
        return descriptor
    }

    @discardableResult private static func setLock(of descriptor: Int32, _ type: Int16) -> Bool {
        var lock = flock()
        (lock.l_type, lock.l_whence, lock.l_start, lock.l_len) = (type, Int16(SEEK_SET), lockedByte, 1)
        return fcntl(descriptor, setOpenFileLock, &lock) == 0
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
        return descriptor
    }

    // MARK: What has become of the files

    /// Keeps the write-ahead log's file in sight, too. Call it once SQLite has created that. It stays the same file as long as
    /// SQLite has the store open.
    func watchLog() throws(StoreError) {
        let descriptor = Glibc.open(path + "-wal", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreachable(.file(path), detail: "\(path)-wal: \(Self.text(errno))") }
        log = (descriptor, FileIdentity(descriptor: descriptor))
    }

    /// Which of the files is no longer at its path. Nil: both are. Then each has a link at least, because it is found by its
    /// name.
    var loss: StoreLoss? {
        StoreLoss(.database, path, expected: identity) ?? logLoss
    }

    /// Gives the write-ahead log another name, because another database has its place: SQLite would take the log for that
    /// one's. Nothing is deleted.
    func setLogAside() {
        guard logLoss == nil else { return }
        rename(path + "-wal", path + "-wal.replaced")
    }

    /// The same of the write-ahead log alone.
    var logLoss: StoreLoss? { log.flatMap { StoreLoss(.log, path + "-wal", expected: $0.identity) } }

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
