import Foundation
import Testing

@testable import Configuration

@Suite struct SettingsLoadingTests {
    /// A temporary directory, deleted after the test.
    private final class Directory {
        // Not in TMPDIR, whose path may be long: errors cut off long values.
        let path = "/tmp/fleetwire-\(UUID().uuidString.prefix(8))"

        init(_ files: [String: Data] = [:]) throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            for (name, content) in files {
                try content.write(to: URL(filePath: "\(path)/\(name)"))
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }  // if this fails, the system cleans /tmp later
    }

    private func problem(_ file: String) -> String? {
        do throws(ConfigurationErrors) {
            _ = try Settings.load(file: file, environment: [:])
            return nil
        } catch {
            return error.description
        }
    }

    @Test("Paths of secret files are relative to the configuration file")
    func secrets() throws {
        let directory = try Directory([
            "c.yaml": Data("apps: [{id: a, key: b, secret: file:secret}]".utf8), "secret": Data("s3cret\n".utf8),
        ])
        let settings = try Settings.load(file: directory.path + "/c.yaml", environment: [:])
        #expect(settings.apps == [Settings.App(id: "a", key: "b", secret: "s3cret")])
    }

    @Test("Paths of TLS files are absolute or relative to the configuration file")
    func tls() throws {
        let directory = try Directory([
            "c.yaml": Data("server: {tls: {certificate: c.pem, key: \"${KEY}\"}}".utf8), "c.pem": Data(), "k.pem": Data(),
        ])
        let (file, key) = (directory.path + "/c.yaml", directory.path + "/k.pem")
        let settings = try Settings.load(file: file, environment: ["KEY": key])
        #expect(settings.server.tls == [Settings.TLS(certificate: directory.path + "/c.pem", key: key)])
    }

    @Test("Each load reads all files again")
    func again() throws {
        let directory = try Directory([
            "c.yaml": Data("metrics: {token: file:token}\nnotifications: {file: n.yaml}".utf8), "token": Data("one".utf8),
            "n.yaml": Data("lunch: {title: One}".utf8),
        ])
        let file = directory.path + "/c.yaml"
        let first = try Settings.load(file: file, environment: [:])
        #expect(try Settings.load(file: file, environment: [:]) == first)
        try Data("two".utf8).write(to: URL(filePath: directory.path + "/token"))
        try Data("lunch: {title: Two}".utf8).write(to: URL(filePath: directory.path + "/n.yaml"))
        let second = try Settings.load(file: file, environment: [:])
        #expect(second.metrics.token == "two")
        #expect(second.notifications.entry(for: "lunch")?.title == "Two")
        try Data("lunch: {titel: Two}".utf8).write(to: URL(filePath: directory.path + "/n.yaml"))
        #expect(problem(file) == directory.path + "/n.yaml:1: lunch.titel: unknown key; did you mean lunch.title?")
        try Data("lunch: {title: One}".utf8).write(to: URL(filePath: directory.path + "/n.yaml"))
        try Data("one".utf8).write(to: URL(filePath: directory.path + "/token"))
        #expect(try Settings.load(file: file, environment: [:]) == first)
    }

    @Test("An unreadable file is an error that names it")
    func unreadable() throws {
        let directory = try Directory(["bytes": Data([0x61, 0xFF]), "c.yaml": Data("log: {level: file:none}".utf8)])
        let path = directory.path
        #expect(problem("\(path)/none") == "\(path)/none: cannot be read: No such file or directory")
        #expect(problem(path) == "\(path): cannot be read: expected a regular file, found a directory")
        #expect(problem("\(path)/bytes") == "\(path)/bytes: cannot be read: not UTF-8 text")
        #expect(
            problem("\(path)/c.yaml")
                == "\(path)/c.yaml:1: log.level: cannot read \"\(path)/none\": No such file or directory")
    }

    @Test("A file may have up to 1 MiB")
    func size() throws {
        let comment = Data(repeating: UInt8(ascii: "#"), count: TextFile.bytesMax)
        let directory = try Directory(["fits": comment, "larger": comment + Data("#".utf8)])
        #expect(problem("\(directory.path)/fits") == nil)
        #expect(problem("\(directory.path)/larger") == "\(directory.path)/larger: cannot be read: larger than 1 MiB")
    }

    @Test("A file that is not a regular file is rejected without blocking")
    func irregular() throws {
        let directory = try Directory([
            "c.yaml": Data("notifications: {file: fifo}".utf8), "d.yaml": Data("metrics: {token: 'file:fifo'}".utf8),
        ])
        let path = directory.path
        #expect(mkfifo("\(path)/fifo", 0o600) == 0)
        let reason = "expected a regular file, found a FIFO"
        #expect(problem("\(path)/fifo") == "\(path)/fifo: cannot be read: \(reason)")
        #expect(problem("\(path)/c.yaml") == "\(path)/c.yaml:1: notifications.file: cannot read \"fifo\": \(reason)")
        #expect(problem("\(path)/d.yaml") == "\(path)/d.yaml:1: metrics.token: cannot read \"\(path)/fifo\": \(reason)")
        // The FIFO is rejected even if a writer has it open.
        let writer = open("\(path)/fifo", O_RDWR | O_CLOEXEC)
        #expect(problem("\(path)/fifo") == "\(path)/fifo: cannot be read: \(reason)")
        close(writer)
        #expect(problem("/dev/zero") == "/dev/zero: cannot be read: expected a regular file, found a device")
    }
}
