import Configuration
import Migration
import Testing

/// The pages in docs/migration have the rows that the command knows, and all of its differences.
@Suite struct MigrationPagesTests {
    private static let root = #filePath.replacing("Tests/MigrationTests/MigrationPagesTests.swift", with: "")

    static let pages: [(page: String, rows: [OptionRow])] = [
        ("soketi", OptionTable.soketi), ("reverb", OptionTable.reverb), ("laravel-websockets", OptionTable.laravelWebSockets),
        ("pusher", OptionTable.pusher), ("ably", OptionTable.ably),
    ]

    @Test(arguments: pages.map(\.page))
    func hasTheRowsOfTheTable(page: String) throws {
        let rows = try #require(Self.pages.first { $0.page == page }).rows
        let lines = try TextFile.content(of: "\(Self.root)docs/migration/\(page).md").split(separator: "\n").map(String.init)
        let documented = lines.filter { $0.hasPrefix("| `") && $0.split(separator: "|").count == 3 }
        let expected = rows.map { row in
            "| `\(row.theirs)` | \(row.theirDefault.isEmpty ? "" : "`\(row.theirDefault)`") | \(row.ours) |".replacing(
                "|  |", with: "| |")
        }
        #expect(documented == expected, "\(expected.joined(separator: "\n"))")
    }

    /// Each key that a row names exists.
    @Test func namesKeysThatExist() throws {
        let text = try TextFile.content(of: Self.root + "config/fleetwire.yaml")
        for row in Self.pages.flatMap(\.rows) {
            for match in row.ours.matches(of: /`([a-z_]+(?:\[\])?(?:\.[a-z_]+(?:\[\])?)+)`/) {
                let key = match.1.split(separator: ".").last.map { $0.replacing("[]", with: "") } ?? ""
                #expect(text.contains("\(key):"), "\(match.1)")
            }
        }
    }
}
