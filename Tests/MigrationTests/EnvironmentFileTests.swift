import Testing

@testable import Migration

/// `.env` files.
@Suite struct EnvironmentFileTests {
    @Test(arguments: [
        ("A=b", "b"), ("A = b ", "b"), ("export A=b", "b"), ("  A=b", "b"), ("A=b # c", "b"), ("A=b#c", "b#c"), ("A=#b", ""),
        (#"A="b # c""#, "b # c"), (#"A='b"c'"#, #"b"c"#), (#"A="b\"c" # d"#, #"b"c"#), ("A=", ""), (#"A="""#, ""),
        ("A=b=c", "b=c"), ("B=x\nA=${B}y", "xy"), ("A=${C}y", "y"), ("A=${B", "${B"), ("A=$B", "$B"), ("A=1\nA=2", "2"),
        ("# A=1\r\nA=3\r\n", "3"), (#"A="ü €""#, "ü €"), (#"A="unfinished"#, "unfinished"),
    ])
    func reads(line: String, value: String) throws {
        let file = try EnvironmentFile("Z=1\n" + line)
        #expect(file.values["A"] == value)
    }

    @Test(arguments: ["", "A", "=b", "A B=c", "é=b", "<html>", "A:b"])
    func isNoVariable(line: String) {
        #expect(throws: MigrationError.self) { try EnvironmentFile(line) }
    }

    /// Each reference doubles the text, but a value stays short.
    @Test func boundsWhatReferencesExpandTo() throws {
        let lines = (1...60).map { "A\($0)=${A\($0 - 1)}${A\($0 - 1)}" }.joined(separator: "\n")
        let file = try EnvironmentFile("A0=xxxxxxxxxxxxxxxx\n" + lines)
        #expect(file.values["A60"]?.utf8.count == 4_096)
    }
}
