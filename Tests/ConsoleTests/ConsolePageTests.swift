import Foundation
import HTTP
import Testing

@testable import Console

@Suite struct ConsolePageTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/Fleet/CConsole/page").standardized

    private func page(tileURL: String = "") -> ConsolePage { ConsolePage(key: "key1", tileURL: tileURL) }

    private func policy(_ page: ConsolePage) -> String {
        page.response(for: "")?.headers["Content-Security-Policy"] ?? ""
    }

    @Test func everyFileIsServedAsItIs() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(files.count > 3)
        for file in files {
            let response = try #require(page().response(for: file == "console.html" ? "" : file), "\(file) is not in console.c")
            #expect(try response.body == Array(Data(contentsOf: Self.folder.appending(path: file))), "\(file)")
        }
        #expect(Set(page().names) == Set(files.map { $0 == "console.html" ? "" : $0 } + ["config.json"]))
    }

    /// The page is at `/console` and `/console/`, so the paths of its files are absolute.
    @Test func belowAPrefixThePageFindsItsFiles() {
        let page = ConsolePage(key: "key1", tileURL: "", pathPrefix: "/ws")
        let text = String(decoding: page.response(for: "")?.body ?? [], as: UTF8.self)
        #expect(text.contains("href=\"/ws/console/console.css\"") && text.contains("src=\"/ws/console/console.js\""))
        #expect(!text.contains("\"/console/") && policy(page) == policy(self.page()))
    }

    @Test func mediaTypesAreThoseOfTheFiles() {
        for name in page().names {
            let expected =
                switch name.split(separator: ".").last {
                case "js": "text/javascript; charset=utf-8"
                case "css": "text/css; charset=utf-8"
                case "json": "application/json"
                default: "text/html; charset=utf-8"
                }
            #expect(page().response(for: name)?.contentType == expected)
        }
    }

    @Test func configurationNamesTheAppAndTheTiles() {
        func text(_ page: ConsolePage) -> String {
            String(decoding: page.response(for: "config.json")?.body ?? [], as: UTF8.self)
        }
        #expect(text(page()) == #"{"key":"key1","tileUrl":null}"#)
        #expect(text(page(tileURL: "https://t/{z}/{x}/{y}")).contains(#""tileUrl":"https://t/{z}/{x}/{y}""#))
    }

    @Test func onlyTheTilesServerIsAllowedBesidesTheGateway() {
        #expect(policy(page()).contains("img-src 'self' data:;"))
        #expect(
            policy(page(tileURL: "https://t.example:8/{z}/{x}/{y}.png")).contains("img-src 'self' data: https://t.example:8;"))
        #expect(policy(page()).hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"))
    }

    /// `default-src` does not apply to these.
    @Test func nobodyMayFrameThePageOrLetItSendForms() {
        #expect(policy(page()).hasSuffix("; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"))
    }

    @Test func unknownFilesAreNone() {
        for name in ["none.js", "console.html", "../page/console.html"] { #expect(page().response(for: name) == nil) }
    }
}
