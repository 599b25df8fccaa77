import Glibc
import Signing

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
        guard let key = SealingKey(bytes) else {
            throw .unreachable(
                path: path, detail: "\(file): expected 32 bytes in base64; without the right key all phones must register again")
        }
        return DeviceKeys([("development", key)])
    }

    /// Nil when the file is there already.
    private static func make(_ file: String, of path: String) throws(StoreError) -> [UInt8]? {
        let descriptor = Glibc.open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw failure(file, of: path)
        }
        defer { close(descriptor) }
        var random = SystemRandomNumberGenerator()
        let key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        let line = Array((Base64.text(key) + "\n").utf8)
        guard write(descriptor, line, line.count) == line.count, fsync(descriptor) == 0 else {
            throw failure(file, of: path)
        }
        return key
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
