import ArgumentParser
import Glibc
import Migration

/// `fleetwire migrate-check`: reads a file of another Pusher server, or a browser's recording, and prints what it uses, what
/// differs here, and the configuration to start with.
struct MigrateCheck: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate-check",
        abstract: "Tell what a move from another Pusher server needs, and print the configuration to start with.",
        discussion: """
            FILE is a soketi.json, a Laravel .env (Pusher, Reverb, Laravel WebSockets, Soketi, Ably), or a HAR recording of a \
            browser; its content tells which. The output is a configuration: what the file uses, and what differs here, are \
            comments in it. Secrets are not printed: the configuration refers to environment variables.
            """)

    @Argument(help: "The file to read.")
    var file: String

    func run() throws {
        do throws(MigrationError) {
            let bytes = try RegularFile.content(of: file, bytesMax: MigrationCheck.recordingBytesMax)
            print(try MigrationCheck.report(on: bytes).text, terminator: "")
        } catch {
            StandardError.print("fleetwire: cannot read \(Excerpt(file).text): \(error)")
            throw ExitCode.failure
        }
    }
}
