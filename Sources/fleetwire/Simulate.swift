import ArgumentParser
import Glibc

/// `fleetwire simulate`: becomes the program `fleetwire-sim`, which has the simulations, so that this one has no code of
/// tests.
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run seeded simulations of the fan-out core, of guaranteed delivery and of a cluster.",
        discussion: """
            Runs fleetwire-sim, which lies beside this program where both were built from the source. It is not installed.
            """)

    @Argument(parsing: .captureForPassthrough, help: "Those of fleetwire-sim: --seed, --seeds, --steps, --help.")
    var arguments: [String] = []

    func run() throws {
        let simulator = try Self.folder() + "fleetwire-sim"
        let words = ([simulator] + arguments).map { strdup($0) } + [nil]
        execv(simulator, words)
        let problem = String(cString: strerror(errno))
        for word in words { free(word) }
        throw Self.failure("\(simulator): \(problem)")
    }

    /// The folder of this program's file, to which a link may have led, with a slash at the end.
    private static func folder() throws -> String {
        guard let path = realpath("/proc/self/exe", nil) else {
            throw failure("/proc/self/exe: \(String(cString: strerror(errno)))")
        }
        defer { free(path) }
        let file = String(cString: path)
        return file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    }

    private static func failure(_ problem: String) -> ExitCode {
        StandardError.print(
            """
            fleetwire: cannot run \(problem.terminalEscaped). It is not installed: build it from the source, by `swift build \
            --product fleetwire-sim`, and run it there
            """)
        return .failure
    }
}
