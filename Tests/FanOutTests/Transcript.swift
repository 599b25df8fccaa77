import FanOut
import Foundation

/// Clients' messages and the frames that they get, as a text file that is reviewed like code (`Tests/Transcripts`).
///
/// | Line | Meaning |
/// |---|---|
/// | `# comment` | ignored, like an empty line |
/// | `+ anna` | a client named anna connects with key `key1`; `+ anna key2`: to the other application |
/// | `> anna: TEXT` | anna sends a message |
/// | `! channel event "data"` | a backend publishes; the data is a JSON string, sent as written |
/// | `! channel event "data" except anna` | the same, but anna is excluded |
/// | `! channel event "data" app key2` | the same for the other application |
/// | `- anna` | anna's connection closes |
/// | `+ 100 strangers on news` | 100 clients connect with `key1` and subscribe; their frames are not checked |
/// | `- 3 strangers` | three of these connections close |
/// | `x 42` | a backend terminates the connections of user 42; `x 42 app key2`: in the other application |
/// | `~ 5000` | 5,000 milliseconds pass |
/// | `% client events` | before the first action: the applications permit client events |
/// | `% subscription counts` | likewise: the applications send subscription counts |
/// | `% presence members 2` | likewise: they permit two members per presence channel |
/// | `% cache bytes 300` | likewise: they cache at most 300 bytes of events |
/// | `< anna: TEXT` | a message that anna gets from the actions of the step (see below) |
/// | `< anna: closed 4009` | the server closes anna's connection with the code 4009 |
///
/// A step consists of one or more actions and the `<` lines after them, which list everything that the clients get from
/// these actions.
///
/// The replay fails if a client gets a frame that is not listed, does not get a listed frame, or gets frames in another
/// order. `$anna` in a message is anna's socket id. Names are lower-case letters and can be reused after a close. The
/// first message of a connection (`pusher:connection_established`) is not listed: the hub does not send it.
///
/// The signature of a string is `sig(STRING)`, with colons written as slashes because a signature must not contain a
/// colon: `key1:sig($anna/private-news)`. Where the signature does not matter, `key1:right` is valid for any text.
///
/// The event loop sends events at the end of a turn, but a pong or an error at once. The actions of a step may share
/// one turn or have a turn each, so within a step the order of an event and a pong or error of one client is not
/// defined. To define it, put a `<` line between the two actions.
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

    /// Actions, and the messages that each client must get from them.
    struct Step: Sendable {
        /// The line number of the first action, from 1.
        let line: Int
        var actions: [Action] = []
        var expected: [String: [String]] = [:]
    }

    struct Malformed: Error, Equatable { let line: Int }

    let name: String
    /// The rules of all applications.
    private(set) var rules = AppRules()
    private(set) var steps: [Step] = []

    init(name: String, _ text: String) throws(Malformed) {
        self.name = name
        var isStepComplete = true
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("#") { continue }
            if let action = Self.action(line) {
                if isStepComplete { steps.append(Step(line: index + 1)) }
                steps[steps.count - 1].actions.append(action)
                isStepComplete = false
            } else if steps.isEmpty, Self.change(&rules, as: line) {
                continue
            } else if let (client, message) = Self.message(line, after: "<"), !steps.isEmpty {
                steps[steps.count - 1].expected[client, default: []].append(message)
                isStepComplete = true
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

    /// Applies a line such as `% client events` to `rules`. Returns false if the line is no such setting.
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
    /// The committed transcripts, by name.
    static func committed() throws -> [Transcript] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Transcripts")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "txt" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map { try Transcript(name: $0.lastPathComponent, String(contentsOf: $0, encoding: .utf8)) }
    }
}
