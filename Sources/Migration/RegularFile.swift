import Glibc

/// Reads files whose size is bounded.
package enum RegularFile {
    /// The bytes of a regular file.
    /// - Throws: ``MigrationError`` if it cannot be read, is no regular file, or has more bytes.
    package static func content(of path: String, bytesMax: Int) throws(MigrationError) -> [UInt8] {
        // Non-blocking, because opening a FIFO would otherwise wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw systemError() }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw systemError() }
        guard status.st_mode & S_IFMT == S_IFREG else { throw MigrationError("expected a regular file") }
        guard status.st_size <= bytesMax else { throw MigrationError("\(status.st_size) bytes: at most \(bytesMax) are read") }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(status.st_size))
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else { throw systemError() }
            guard count > 0 else { return bytes }
            // The file may have grown.
            guard bytes.count + count <= bytesMax else { throw MigrationError("more than \(bytesMax) bytes") }
            bytes += chunk[..<count]
        }
    }

    private static func systemError() -> MigrationError { MigrationError(String(cString: strerror(errno))) }
}
