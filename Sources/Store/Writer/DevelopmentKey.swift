import Crypto
import Glibc

extension DeviceKeys {
    /// The key of whoever has configured none: 32 bytes in base64, in a file of its own beside the database, made the first
    /// time and readable by its owner only. It keeps what a copy of the database shows from whoever has not the machine too.
    /// - Throws: ``StoreError`` when the file can neither be read nor made, or holds no key.
    package static func development(besideDatabase path: String) throws(StoreError) -> DeviceKeys {
        try StoreFile.makeDirectory(of: path)
        let file = path + ".key"
        // Of two processes that start at once one makes it; the other reads it, or finds the database in use.
        let bytes: [UInt8]
        if let made = try make(file, of: path) { bytes = made } else { bytes = try read(file, of: path) }
        guard let key = AESGCMKey(bytes) else {
            throw .unreachable(
                path: path, detail: "\(file): expected 32 bytes in base64; without the right key all phones must register again")
        }
        return DeviceKeys([("development", key)])
    }

    /// Nil when the file is there already. It gets its name when it is whole: a half of it would keep every later start out.
    private static func make(_ file: String, of path: String) throws(StoreError) -> [UInt8]? {
        var status = stat()
        if stat(file, &status) == 0 { return nil }
        var random = SystemRandomNumberGenerator()
        let key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        let draft = try write(Array((Base64.text(key) + "\n").utf8), besides: file, of: path)
        defer { unlink(draft) }
        // Unlike rename, link leaves what another process has put there meanwhile.
        guard link(draft, file) == 0 else {
            if errno == EEXIST { return nil }
            throw failure(file, of: path)
        }
        try syncDirectory(of: file, of: path)
        return key
    }

    /// Writes bytes to a new file in the same directory, down to the disk; answers its name.
    private static func write(_ bytes: [UInt8], besides file: String, of path: String) throws(StoreError) -> String {
        let draft = "\(file).\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let descriptor = Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(draft, of: path) }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            let problem = failure(file, of: path)
            unlink(draft)
            throw problem
        }
        return draft
    }

    /// So that the name outlives a power cut as the file does: what is sealed with the key will.
    private static func syncDirectory(of file: String, of path: String) throws(StoreError) {
        let directory = file.lastIndex(of: "/").map { String(file[...$0]) } ?? "."
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(file, of: path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(file, of: path) }
    }

    /// No bytes when it holds anything but base64.
    private static func read(_ file: String, of path: String) throws(StoreError) -> [UInt8] {
        let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(file, of: path) }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count >= 0 else { throw failure(file, of: path) }
        let line = buffer[..<count].split(separator: UInt8(ascii: "\n")).first ?? []
        return Base64.bytes(of: String(decoding: line, as: UTF8.self)) ?? []
    }

    private static func failure(_ file: String, of path: String) -> StoreError {
        .unreachable(path: path, detail: "\(file): \(String(cString: strerror(errno)))")
    }
}
