import ArgumentParser
import Configuration
import Fleet
import Threads

/// `fleetwire backup FILE`: copies the store while the gateway runs.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy the store into one file, whether or not the gateway runs.",
        discussion: """
            The copy has one state of all data, is readable only by this user, and is checked. To restore it, stop the \
            gateway, put the copy in the place of the file that store.path names, and delete that file's -wal and -shm.
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Argument(help: "The file to write, which must not exist.")
    var file: String

    func run() throws {
        let settings = try configuration.load()
        guard settings.store.url.isEmpty else {
            StandardError.print(
                "fleetwire: cannot back up a PostgreSQL database: use pg_dump, and keep a copy of store.encryption_keys, too")
            throw ExitCode.failure
        }
        do throws(BackupError) {
            let copy = try Backup.copy(settings.store.path, to: file, at: Clock.unixMilliseconds())
            print("Copied \(settings.store.path) to \(file): \(copy.bytes) bytes, checked")
            if !copy.isNoted {
                StandardError.print(
                    "fleetwire: cannot write \(settings.store.path).backed-up: /metrics does not show the age of this backup")
            }
        } catch {
            StandardError.print("fleetwire: cannot \(error)")
            throw ExitCode.failure
        }
        if settings.store.encryptionKeys.isEmpty {
            StandardError.print(
                "fleetwire: the devices' tokens in it are readable only with \(settings.store.path).key: keep a copy of that file, too"
            )
        }
    }
}
