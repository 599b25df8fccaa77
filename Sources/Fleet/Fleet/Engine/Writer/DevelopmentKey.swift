import Crypto
import Glibc

extension DeviceKeys {
    /// The key that is used if none is configured: 32 bytes in base64 in a file beside the database (mode 0600),
    /// created at the first start. Without this file, a copy of the database does not reveal the device tokens.
    /// - Throws: ``StoreError`` if the file can neither be read nor created, or contains no key.
    package static func development(besideDatabase path: String) throws(StoreError) -> DeviceKeys {
        try StoreFile.makeDirectory(of: path)
        let file = path + ".key"
        // If two processes start at the same time, one creates the file and the other reads it.
        let bytes: [UInt8]
        if let created = try create(file, of: path) { bytes = created } else { bytes = try read(file, of: path) }
        guard let key = AESGCMKey(bytes) else {
            throw .unreachable(
                .file(path), detail: "\(file): expected 32 bytes in base64. Restore the file, or all devices must register again")
        }
        return DeviceKeys([("development", key)])
    }

    /// Creates the file with a new key. Returns nil if the file exists. The file gets its name only when it is
    /// complete: a truncated key would make every later start fail.
    private static func create(_ file: String, of path: String) throws(StoreError) -> [UInt8]? {
        var status = stat()
        if stat(file, &status) == 0 { return nil }
        var random = SystemRandomNumberGenerator()
        let key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        let draft = try write(Array((Base64.text(key) + "\n").utf8), beside: file, of: path)
        defer { unlink(draft) }
        // Unlike rename, link does not replace a file that another process has created meanwhile.
        guard link(draft, file) == 0 else {
            if errno == EEXIST { return nil }
            throw failure(file, of: path)
        }
        try syncDirectory(of: file, of: path)
        return key
    }

    /// Writes bytes to a new file in the same directory and syncs it.
    /// - Returns: the path of the new file.
    private static func write(_ bytes: [UInt8], beside file: String, of path: String) throws(StoreError) -> String {
        let draft = "\(file).\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let descriptor = Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(draft, of: path) }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            let error = failure(file, of: path)
            unlink(draft)
            throw error
        }
        return draft
    }

    /// Syncs the directory, so that the key file's name survives a power failure. Otherwise tokens that are encrypted
    /// with the key could survive without the key.
    private static func syncDirectory(of file: String, of path: String) throws(StoreError) {
        let directory = file.lastIndex(of: "/").map { String(file[...$0]) } ?? "."
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(file, of: path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(file, of: path) }
    }

    /// Decodes the first line of the file. Returns no bytes if the line is not base64.
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
        .unreachable(.file(path), detail: "\(file): \(String(cString: strerror(errno)))")
    }
}
