import Testing

@Suite struct TranscriptTests {
    @Test(arguments: try Transcript.committed(), TranscriptReplay.Turn.allCases)
    func replaysOnOneLoop(transcript: Transcript, turn: TranscriptReplay.Turn) {
        var replay = TranscriptReplay(transcript.rules, loopCount: 1, turn: turn)
        let differences = replay.differences(from: transcript)
        #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
    }

    @Test(arguments: try Transcript.committed(), TranscriptReplay.Turn.allCases)
    func replaysOnTwoLoops(transcript: Transcript, turn: TranscriptReplay.Turn) {
        var replay = TranscriptReplay(transcript.rules, loopCount: 2, turn: turn)
        let differences = replay.differences(from: transcript)
        #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
    }

    @Test func transcriptsExist() throws {
        let transcripts = try Transcript.committed()
        #expect(transcripts.count >= 16 && transcripts.allSatisfy { !$0.steps.isEmpty })
    }

    // MARK: The replay detects deviations

    private static let ping = #"> anna: {"event":"pusher:ping"}"#
    private static let pong = #"< anna: {"event":"pusher:pong","data":{}}"#

    private func differences(_ lines: String...) throws -> [String] {
        let transcript = try Transcript(name: "here", lines.joined(separator: "\n"))
        var replay = TranscriptReplay(transcript.rules, loopCount: 1, turn: .everyAction)
        return replay.differences(from: transcript)
    }

    @Test func acceptsExpectedFrames() throws {
        #expect(try differences("+ anna", "", "# A ping.", Self.ping, Self.pong).isEmpty)
    }

    @Test func reportsAMissingFrame() throws {
        #expect(try differences("+ anna", Self.ping).count == 1, "sent, not listed")
        #expect(try differences("+ anna", Self.ping, Self.pong, Self.pong).count == 1, "listed, not sent")
        #expect(try differences("+ anna", Self.ping, Self.ping, Self.pong).count == 1, "listed once, sent twice")
        #expect(try differences("+ anna", Self.ping, "+ bert", Self.pong, Self.ping).count == 1, "sent at the end, not listed")
        #expect(try differences("+ anna", Self.ping, Self.pong.replacing("pong", with: "pang")).count == 1, "different text")
        #expect(
            try differences("+ anna", "+ bert", Self.ping, Self.pong.replacing("anna", with: "bert")).count == 2,
            "sent to another client")
    }

    @Test func reportsAWrongOrder() throws {
        let rejected = #"< anna: {"event":"pusher:error","data":{"message":"Expected an event","code":null}}"#
        #expect(try differences("+ anna", "> anna: {}", Self.ping, rejected, Self.pong).isEmpty)
        #expect(try differences("+ anna", "> anna: {}", Self.ping, Self.pong, rejected).count == 1)
    }

    @Test func reportsAnUnknownClient() throws {
        #expect(try differences(Self.ping, Self.pong).count == 2)
        #expect(try differences("+ anna", "- anna", Self.ping).count == 1)
        #expect(try differences("- anna").count == 1)
        #expect(try differences("+ anna", "+ anna").count == 1)
        #expect(try differences("+ anna key3").count == 1)
        #expect(try differences(#"! news e "1" except anna"#).count == 1)
    }

    @Test(arguments: [
        "anna", "+anna", "+ Anna", "> anna", "? anna", "! news", "! news e data", "% more", "% cache bytes", "~ soon", "x",
        "+ 3 on news", "- 3", #"! news e "1" to anna"#, Self.pong,
    ])
    func rejectsAMalformedLine(line: String) {
        #expect(throws: Transcript.Malformed(line: 2)) { try Transcript(name: "here", "#\n" + line) }
    }
}
