import Glibc
import Testing

@testable import Fleet

@Suite(.fileOnly) struct DatabaseTests {
    private let store = TemporaryStore()

    private func open() throws(StoreError) -> Database {
        try Database.open(store.address, durability: .full, now: noon)
    }

    /// The permission bits of a file; 0 if it does not exist.
    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func filesAreReadableByTheOwnerOnly() throws {
        let database = try open()
        try database.run("INSERT INTO schema_migrations VALUES (0, 0)")
        #expect(mode(store.directory + "/var") == 0o700)
        for name in ["", "-wal", "-shm", ".lock"] { #expect(mode(store.path + name) == 0o600, "\(name)") }
    }

    @Test func createsMissingDirectories() throws {
        let path = store.directory + "/var/a/b/store.db"
        do { _ = try Database.open(.file(path), durability: .normal, now: noon) }
        #expect(mode(path) == 0o600)
        for name in ["", ".lock", "-wal", "-shm"] { unlink(path + name) }
        rmdir(store.directory + "/var/a/b")
        rmdir(store.directory + "/var/a")
    }

    @Test func setsSynchronousByDurability() throws {
        for durability in Durability.allCases {
            let database = try Database.open(store.address, durability: durability, now: noon)
            #expect(try database.dump("PRAGMA synchronous") == [durability == .full ? "2" : "1"])
            #expect(try database.dump("PRAGMA journal_mode") == ["wal"])
            #expect(try database.dump("PRAGMA trusted_schema") == ["0"])
        }
    }

    @Test func rejectsSecondWriter() throws {
        do {
            let first = try open()
            let error = #expect(throws: StoreError.self) { try open() }
            #expect(error == .inUse(store.address, by: "process \(getpid())"))
            try first.run("DELETE FROM orders")  // the first writer is not affected
        }
        _ = try open()
    }

    @Test func opensForReadingWithAndWithoutAWriter() throws {
        do {
            let writer = try open()
            try writer.run("INSERT INTO schema_migrations VALUES (0, 0)")
            let reader = try Database.open(readingFrom: store.address)
            #expect(try reader.dump("SELECT 1 FROM schema_migrations").count == Schema.migrations.count + 1)
        }
        let reader = try Database.open(readingFrom: store.address)
        #expect(try reader.dump("SELECT 1 FROM schema_migrations").count == Schema.migrations.count + 1)
        #expect(throws: DatabaseError.self) { try reader.run("DELETE FROM orders") }
        _ = try open()  // while the reader is still open
    }

    @Test func reportsLockOfAnotherProgramAsInUse() throws {
        do { _ = try open() }
        let other = try Database.open(besideGateway: store.address)
        try other.run("PRAGMA locking_mode = EXCLUSIVE")
        try other.run("BEGIN EXCLUSIVE")
        let error = #expect(throws: StoreError.self) { try open() }
        #expect(error == .inUse(store.address, by: nil))
        #expect(error?.description.hasPrefix("open \(store.path): in use by another process. ") == true)
    }

    @Test func rejectsFileThatIsNotADatabase() throws {
        let text = Array(String(repeating: "This is a letter, not a database. ", count: 100).utf8)
        store.write(text)
        let error = #expect(throws: StoreError.self) { try open() }
        #expect(error == .damaged(store.address, detail: "file is not a database"))
        #expect(store.bytes() == text)
        #expect(throws: StoreError.damaged(store.address, detail: "file is not a database")) {
            try Database.open(readingFrom: store.address)
        }
    }

    @Test func rejectsCorruptFile() throws {
        do { try open().file.checkpoint() }
        var bytes = store.bytes()
        for index in 100..<min(4096, bytes.count) { bytes[index] = 0xFF }  // the first page, except the file header
        store.write(bytes)
        let error = #expect(throws: StoreError.self) { try open() }
        #expect(error == .damaged(store.address, detail: "database disk image is malformed"))
        #expect(error?.description.contains("Restore it from a backup") == true)
        #expect(store.bytes() == bytes)
    }

    @Test func errorNamesThePathThatCannotBeOpened() throws {
        let below = "/proc/fleetwire/store.db"
        let error = #expect(throws: StoreError.self) { try Database.open(.file(below), durability: .full, now: noon) }
        #expect(error == .unreachable(.file(below), detail: "/proc/fleetwire/: No such file or directory"))
        let file = store.directory + "/file"
        close(Glibc.open(file, O_CREAT | O_WRONLY, 0o600))
        defer { unlink(file) }
        #expect(throws: StoreError.self) { try Database.open(.file(file + "/store.db"), durability: .full, now: noon) }
        #expect(throws: StoreError.unreachable(store.address, detail: "unable to open database file")) {
            try Database.open(readingFrom: store.address)
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may write anywhere")) func errorNamesTheMissingPermission() throws {
        mkdir(store.directory + "/var", 0o500)
        let error = #expect(throws: StoreError.self) { try open() }
        #expect(error == .unreachable(store.address, detail: "\(store.path).lock: Permission denied"))
    }

    @Test func errorOfAFullDiskSaysWhatToDo() throws {
        let error = StoreError(DatabaseError(sqlite: 13, message: "database or disk is full", doing: "it"), .file("x.db"))
        #expect(error.description == "open x.db: the disk is full. Free some space, then try again.")
    }
}
