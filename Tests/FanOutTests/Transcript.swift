import FanOut
import Foundation

/// What clients say and what they get, as text to be reviewed like code: the files of `Tests/Transcripts`.
///
/// | Line | Meaning |
/// |---|---|
/// | `# comment` | nothing, as an empty line |
/// | `+ anna` | a client named anna connects with the key `key1`; `+ anna key2`: to the other application |
/// | `> anna: TEXT` | anna sends a message |
/// | `! channel event "data"` | a backend publishes; the data is a JSON string, passed through as it is written |
/// | `! channel event "data" except anna` | the same to all but anna |
/// | `! channel event "data" app key2` | the same for the other application |
/// | `- anna` | anna's connection closes |
/// | `+ 100 strangers on news` | so many clients connect with `key1` and subscribe; what they get is of no concern |
/// | `- 3 strangers` | so many of them close |
/// | `x 42` | a backend terminates the connections of the user with the id 42; `x 42 app key2`: of the other application's |
/// | `~ 5000` | so many milliseconds pass |
/// | `% client events` | before all else: the applications let clients send events |
/// | `% subscription counts` | … tell subscribers how many they are |
/// | `% presence members 2` | … have room for so many members in a channel |
/// | `% cache bytes 300` | … keep so many bytes of events |
/// | `< anna: TEXT` | what anna gets of the actions above it, back to the last line of this kind; `closed 4009`: her connection ends |
///
/// A frame that is not listed is a failure, and so is one that is listed and does not come; each client's order counts.
/// `$anna` in a text is anna's socket id. Names are lower-case letters and may be used again after a close. The
/// greeting (`pusher:connection_established`) is the gateway's and does not appear.
///
/// The signature of a text is `sig(TEXT)`, its colons written as slashes because a signature holds none:
/// `key1:sig($anna/private-news)`. Where it does not matter, `key1:right` is the right one for any text.
///
/// Neighbouring actions may end up in one turn. A pong or a refusal goes out at once, so between a publish and what
/// causes one of these for the same client belongs a `<` line: nothing says which comes first.
struct Transcript: Sendable {
    enum Action: Sendable {
        case connect(String, key: String)
        case send(String, String)
        case publish(channel: String, event: String, data: String, except: String?, key: String)
        case close(String)
        case crowd(Int, channel: String)
        case disperse(Int)
        case terminate(user: String, key: String)
        case pass(milliseconds: Int64)
    }

    /// Actions, and the messages they bring to each client.
    struct Step: Sendable {
        /// The line of the first action.
        let line: Int
        var actions: [Action] = []
        var expected: [String: [String]] = [:]
    }

    struct Malformed: Error, Equatable { let line: Int }

    let name: String
    /// Of all applications.
    private(set) var rules = AppRules()
    private(set) var steps: [Step] = []

    init(name: String, _ text: String) throws(Malformed) {
        self.name = name
        var expects = true
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("#") { continue }
            if let action = Self.action(line) {
                if expects { steps.append(Step(line: index + 1)) }
                steps[steps.count - 1].actions.append(action)
                expects = false
            } else if steps.isEmpty, Self.change(&rules, as: line) {
                continue
            } else if let (client, message) = Self.message(line, after: "<"), !steps.isEmpty {
                steps[steps.count - 1].expected[client, default: []].append(message)
                expects = true
            } else {
                throw Malformed(line: index + 1)
            }
        }
    }

    private static func action(_ line: Substring) -> Action? {
        if let match = line.wholeMatch(of: /\+ ([a-z]+)(?: (\S+))?/) {
            return .connect(String(match.1), key: match.2.map(String.init) ?? "key1")
        }
        if let match = line.wholeMatch(of: /- ([a-z]+)/) { return .close(String(match.1)) }
        if let (client, message) = message(line, after: ">") { return .send(client, message) }
        if let match = line.wholeMatch(of: /\+ (\d+) strangers on (\S+)/) {
            return .crowd(Int(match.1) ?? 0, channel: String(match.2))
        }
        if let match = line.wholeMatch(of: /- (\d+) strangers/) { return .disperse(Int(match.1) ?? 0) }
        if let match = line.wholeMatch(of: /~ (\d+)/) { return .pass(milliseconds: Int64(match.1) ?? 0) }
        if let match = line.wholeMatch(of: /x (.+?)(?: app (\S+))?/) {
            return .terminate(user: String(match.1), key: match.2.map(String.init) ?? "key1")
        }
        let publication = /! (\S+) (\S+) ("(?:[^"\\]|\\.)*")(?: except ([a-z]+))?(?: app (\S+))?/
        guard let match = line.wholeMatch(of: publication) else { return nil }
        return .publish(
            channel: String(match.1), event: "\"\(match.2)\"", data: String(match.3), except: match.4.map(String.init),
            key: match.5.map(String.init) ?? "key1")
    }

    private static func change(_ rules: inout AppRules, as line: Substring) -> Bool {
        switch line {
        case "% client events": rules.clientEvents = true
        case "% subscription counts": rules.subscriptionCounts = true
        default:
            guard let match = line.wholeMatch(of: /% (presence members|cache bytes) (\d+)/), let value = Int(match.2) else {
                return false
            }
            if match.1 == "cache bytes" { rules.limits.cacheBytes = value } else { rules.limits.presenceMembers = value }
        }
        return true
    }

    /// The name and the text of `> name: text`. An empty text needs no space before it.
    private static func message(_ line: Substring, after mark: Character) -> (String, String)? {
        guard line.first == mark, let match = line.wholeMatch(of: /[<>] ([a-z]+):(?: (.*))?/) else { return nil }
        return (String(match.1), match.2.map(String.init) ?? "")
    }
}

extension Transcript: CustomStringConvertible {
    var description: String { name }
}

extension Transcript {
    /// The committed ones, by name.
    static func committed() throws -> [Transcript] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Transcripts")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "txt" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map { try Transcript(name: $0.lastPathComponent, String(contentsOf: $0, encoding: .utf8)) }
    }
}
