import Testing

@testable import Migration

/// Files of any content: an error or a report, and never a secret.
@Suite struct HostileFileTests {
    @Test(
        arguments: [
            ([], "the file is empty"), (Array(" \n".utf8), "the file is empty"),
            ([0x00, 0x01, 0x02], "neither JSON nor text in UTF-8: expected a soketi.json, a Laravel .env or a HAR recording"),
            (
                [0x41, 0x3D, 0xFF, 0xFE],
                "neither JSON nor text in UTF-8: expected a soketi.json, a Laravel .env or a HAR recording"
            ),
            (Array("hello".utf8), "no line is NAME=value: expected a soketi.json, a Laravel .env or a HAR recording"),
            (
                Array("{}".utf8),
                #"a JSON object that is neither a browser's recording ("log") nor a configuration of Soketi ("appManager…")"#
            ),
            (Array(#"{"port":"#.utf8), "invalid JSON: "), (Array("{\"port\":\"\u{1}\"}".utf8), "invalid JSON: "),
            ([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], "invalid JSON: "),
            (Array((#"{"log":{"entries":["# + String(repeating: "[", count: 100_000)).utf8), "invalid JSON: "),
            (Array((String(repeating: #"{"port":"#, count: 100_000)).utf8), "invalid JSON: "),
        ] as [([UInt8], String)])
    func hasAClearError(file: [UInt8], text: String) {
        #expect(refusal(file)?.hasPrefix(text) == true, "\(refusal(file) ?? "read")")
    }

    @Test func boundsConfigurations() {
        let long = Array(#"{"port":1,"x":""#.utf8) + Array(repeating: UInt8(ascii: "x"), count: 1_100_000) + Array(#""}"#.utf8)
        #expect(refusal(long)?.contains("a configuration has at most 1048576") == true)
        #expect(refusal(Array(("A=" + String(repeating: "x", count: 1_100_000)).utf8))?.contains("at most 1048576") == true)
        let many = #"{"port":1,"cors":{"origin":["# + Array(repeating: "1", count: 30_000).joined(separator: ",") + "]}}"
        #expect(refusal(Array(many.utf8)) == "more than 20,000 values")
        let lines = Array(repeating: "A=1", count: 20_001).joined(separator: "\n")
        #expect(refusal(Array(lines.utf8)) == "more than 20000 lines")
    }

    /// Every cut of a good file is an error or a report without secrets.
    @Test func survivesEveryCut() throws {
        let file = Array(
            #"{"port":6001,"appManager":{"array":{"apps":[{"id":"a","key":"k","secret":"\#(Checked.secret)"}]}}}"#.utf8)
        for end in file.indices {
            let report = try? MigrationCheck.report(on: Array(file[..<end])).text
            #expect(report?.contains("hunter2") != true)
            #expect(refusal(Array(file[..<end]))?.contains("hunter2") != true)
        }
    }

    @Test(
        "an index that is no place of a list is left out",
        arguments: ["100000", "9223372036854775807", "99999999999999999999", "-1", "+1", "01", "", "x"])
    func hostileIndices(index: String) throws {
        let checked = try Checked(
            #"{"appManager.array.apps.\#(index).id":"x","appManager.array.apps.\#(index).webhooks.0.url":"y"}"#)
        #expect(checked.settings.apps.map(\.id) == ["app-id"] && checked.settings.apps[0].webhooks.isEmpty)
        #expect(checked.says("whose index is no number up to 99999") && checked.text.utf8.count < 5_000)
    }

    @Test func readsOnlyRegularFilesOfABoundedSize() {
        for (path, text) in [
            ("/dev/zero", "expected a regular file"), ("/", "expected a regular file"), ("/nonexistent", "No such file"),
        ] {
            do throws(MigrationError) {
                _ = try RegularFile.content(of: path, bytesMax: 10)
                Issue.record("\(path) was read")
            } catch {
                #expect(error.description.hasPrefix(text), "\(error)")
            }
        }
        do throws(MigrationError) {
            _ = try RegularFile.content(of: #filePath, bytesMax: 10)
            Issue.record("a longer file was read")
        } catch {
            #expect(error.description.hasSuffix("bytes: at most 10 are read"))
        }
        #expect((try? RegularFile.content(of: #filePath, bytesMax: 1_000_000))?.isEmpty == false)
    }

    @Test func excerptsAreShortAndHarmless() {
        #expect(Excerpt(String(repeating: "é", count: 500)).text.unicodeScalars.count == 121)
        #expect(Excerpt("a\u{1b}[2J\u{202e}\n\u{2028}").text == "a\\u{1b}[2J\\u{202e}\\u{a}\\u{2028}")
    }

    @Test(arguments: [
        ("https://a.example", true), ("http://localhost:3000", true), ("https://a.example/", false), ("null", false),
        ("*", false),
        ("https://a.example:0", false), ("https://a.example:70000", false), ("https://a.example:", false), ("ftp://a", false),
        ("https://u@a", false), ("https://", false), ("https://a..b", false), ("https://a:b:c", false), ("https://a:080", false),
        ("https://:80", false), ("https://a:-5", false), ("https://" + String(repeating: "a", count: 292), true),
        ("https://" + String(repeating: "a", count: 293), false),
    ])
    func knowsOrigins(text: String, isOrigin: Bool) { #expect(RecordedURL.isOrigin(text) == isOrigin) }
}
