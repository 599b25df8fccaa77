import Glibc
import Testing

@testable import Fleet

/// The key that encrypts device tokens if none is configured. Its file is created completely or not at all, and only
/// once, even if several processes start at the same time.
@Suite struct DevelopmentKeyTests {
    private let store = TemporaryStore()
    private var file: String { store.path + ".key" }

    private func key() throws(StoreError) -> DeviceKeys { try .development(besideDatabase: store.path) }

    /// Whether `keys` decrypts `sealed`, with the development key, to the text `token`.
    private func opens(_ keys: DeviceKeys, _ sealed: [UInt8]) -> Bool {
        keys.open(sealed, keyID: "development", deviceID: "d") == "token"
    }

    /// The names of the files in the store's directory, sorted.
    private func files() -> [String] {
        guard let directory = opendir(store.directory + "/var") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names.filter { $0 != "." && $0 != ".." }.sorted()
    }

    @Test func laterStartsUseTheSameKey() throws {
        let sealed = try key().seal("token", deviceID: "d")
        #expect(try opens(key(), sealed))
        #expect(files() == ["fleetwire.db.key"], "no other files")
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_nlink == 1 && status.st_size == 45)
    }

    /// Each start finds either no key file or a complete one: one start creates the file, the others read it.
    @Test func concurrentStartsShareOneKey() async throws {
        for _ in 0..<200 {
            let store = TemporaryStore()
            let keys = try await withThrowingTaskGroup(of: DeviceKeys.self) { group in
                for _ in 0..<4 { group.addTask { try .development(besideDatabase: store.path) } }
                return try await group.reduce(into: [DeviceKeys]()) { $0.append($1) }
            }
            let sealed = keys[0].seal("token", deviceID: "d")
            #expect(keys.allSatisfy { opens($0, sealed) })
        }
    }

    /// A process that is killed while it creates the key leaves either no file or a complete one.
    @Test func fileIsNeverIncomplete() async throws {
        var sizes: Set<Int> = []
        for _ in 0..<100 {
            let store = TemporaryStore()
            async let keys = DeviceKeys.development(besideDatabase: store.path)
            var status = stat()
            while stat(store.path + ".key", &status) != 0 { sched_yield() }
            sizes.insert(status.st_size)
            _ = try await keys
        }
        #expect(sizes == [45])
    }

    /// A corrupt file is not replaced: it may contain the only key of encrypted tokens.
    @Test func rejectsInvalidKeyFileAndKeepsIt() throws {
        _ = try key()
        #expect(truncate(file, 20) == 0)
        let error = #expect(throws: StoreError.self) { try key() }
        #expect(error?.description.contains("fleetwire.db.key: expected 32 bytes in base64") == true)
        #expect(files() == ["fleetwire.db.key"])
    }
}
