import Glibc

/// The file, the directory around it, and the claim to be the only gateway that writes it.
final class StoreFile {
    let path: String
    private let lock: Int32

    /// Creates what is missing: the directory (0700), the file (0600; SQLite gives its log the same mode).
    init(path: String) throws(StoreError) {
        try Self.makeDirectory(of: path)
        self.path = path
        lock = try Self.claim(path)
        do throws(StoreError) {
            // Before SQLite opens it: closing a descriptor drops all POSIX locks that the process has on the file.
            close(try Self.open(path, of: path))
        } catch {
            close(lock)
            throw error
        }
    }

    /// Closing the descriptor is what gives the claim up. The lock file stays: removing it would let two in.
    deinit { close(lock) }

    private static func claim(_ path: String) throws(StoreError) -> Int32 {
        let descriptor = try open(path + ".lock", of: path)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let problem = errno
            let holder = holder(descriptor)
            close(descriptor)
            guard problem == EWOULDBLOCK else { throw .unreachable(path: path, detail: "\(path).lock: \(text(problem))") }
            throw .inUse(path: path, by: holder)
        }
        writeHolder(descriptor)
        return descriptor
    }

    private static func open(_ file: String, of path: String) throws(StoreError) -> Int32 {
        let descriptor = Glibc.open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unreachable(path: path, detail: "\(file): \(text(errno))") }
        return descriptor
    }

    /// Creates the directories on the way to a file that are missing (0700).
    static func makeDirectory(of path: String) throws(StoreError) {
        var end = path.startIndex
        while let slash = path[end...].firstIndex(of: "/") {
            end = path.index(after: slash)
            let directory = path[..<end]
            // An unwritable parent of a directory that exists answers EACCES or EROFS, but stat knows better.
            var status = stat()
            guard stat(String(directory), &status) != 0, mkdir(String(directory), 0o700) != 0, errno != EEXIST else { continue }
            throw .unreachable(path: path, detail: "\(directory): \(text(errno))")
        }
    }

    // MARK: Who has it

    /// Only for the message of whoever comes second: the lock itself is the kernel's.
    private static func writeHolder(_ descriptor: Int32) {
        let text = "process \(getpid())\n"
        _ = ftruncate(descriptor, 0)
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }

    private static func holder(_ descriptor: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 40)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 1, let line = bytes[..<count].split(separator: UInt8(ascii: "\n")).first else { return nil }
        return String(decoding: line, as: UTF8.self)
    }

    private static func text(_ problem: Int32) -> String { String(cString: strerror(problem)) }
}
