import Access
import Foundation
import JSON
import Primitives
import Testing

@testable import Fleet

/// No position is kept longer than `trips.position_hours`, not even in the audit log or in what a deletion leaves behind
/// in the store's files.
@Suite struct TripRetentionTests {
    private let store = TemporaryStore()
    private static let hour: Int64 = 3_600_000
    private static let minute: Int64 = 60_000
    /// Digits that occur nowhere else in the store.
    private static let arrival = Position(latitude: 51.5318642, longitude: -0.12975314, recordedAt: noon)
    private static let report = Coordinates(latitude: JSONNumber(text: "51.64287531"), longitude: JSONNumber(text: "-0.13864297"))

    /// Orders A and B of driver 42, who arrives at A by position, and reports the arrival at B with a position.
    private func arriveTwice(_ executor: CommandExecutor) throws {
        for code in ["A", "B"] {
            var action = OrderAction(code: code, .assign(.init(id: Identifier("42"))))
            action.changes.pickupCoordinates = .set(coordinates("51.5315", "-0.1295"))
            _ = try executor.commit(command(action))
            _ = try executor.commit(command(AcceptJob(code), by: driver("42")))
            _ = try executor.commit(command(ReportProgress(code, ProgressReport(step: .enRoute)), by: driver("42")))
        }
        let step = TripStep(orderCode: "A", driverID: "42", startedAt: noon, .arrive(at: Self.arrival))
        _ = try executor.commit(command(step, by: driver("42")))
        var report = ProgressReport(step: .arrived)
        report.notes = "at the gate"
        (report.latitude, report.longitude) = (Self.report.latitude, Self.report.longitude)
        _ = try executor.commit(command(ReportProgress("B", report), by: driver("42")))
        try executor.transaction { () throws(DatabaseError) in
            try executor.save([DriverPosition(driverID: "42", position: Self.arrival)])
        }
    }

    private func details(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT details FROM audit WHERE status_after = 'arrived' ORDER BY order_code")
    }

    /// Whether the database file and the write-ahead log contain one of the positions.
    private func positionsInFiles() throws -> (file: Bool, log: Bool) {
        let found = try ["", "-wal"].map { end in
            let bytes = try Data(contentsOf: URL(filePath: store.path + end))
            return ["5318642", "12975314", "64287531", "13864297"].contains { bytes.range(of: Data($0.utf8)) != nil }
        }
        return (found[0], found[1])
    }

    private func runRetention(_ executor: CommandExecutor, at now: Int64) throws {
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
        try executor.runBackgroundTasks(at: now)
    }

    @Test(arguments: [24, 2]) func auditEntriesLoseTheirPositionsAndKeepTheRest(hours: Int) throws {
        let executor = try store.executor { $0.trips.positionHours = hours }
        try arriveTwice(executor)
        let before = try details(executor)
        #expect(
            before == [
                #"{"latitude":51.5318642,"longitude":-0.12975314,"distanceMetres":44.1}"#,
                #"{"notes":"at the gate","latitude":51.64287531,"longitude":-0.13864297}"#,
            ])
        let end = noon + Int64(hours) * Self.hour
        try runRetention(executor, at: end)
        #expect(try details(executor) == before, "the positions are not older than \(hours) hours")
        #expect(try executor.count("driver_positions") == 1)
        let entries = try executor.count("audit")

        try runRetention(executor, at: end + Self.minute)
        #expect(try details(executor) == [#"{"distanceMetres":44.1}"#, #"{"notes":"at the gate"}"#])
        #expect(try executor.count("audit") == entries && executor.count("driver_positions") == 0)
        #expect(try executor.database.dump("SELECT COUNT(*) FROM audit WHERE has_position = 1") == ["0"])
    }

    @Test(.fileOnly) func erasingADriverDeletesTheStoredPosition() throws {
        let executor = try store.executor()
        try arriveTwice(executor)
        #expect(try executor.count("driver_positions") == 1)
        _ = try executor.commit(command(Erase(.driver, id: "42")))
        try executor.runBackgroundTasks()
        #expect(try executor.count("driver_positions") == 0)
        #expect(try positionsInFiles() == (file: false, log: false))
    }

    /// A driver's app sends a report again if it has not got the answer.
    @Test func aRepeatedReportIsNoPosition() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(command(AcceptJob("A"), by: driver("42")))
        var report = ProgressReport(step: .enRoute)
        (report.latitude, report.longitude) = (Self.report.latitude, Self.report.longitude)
        let first = try executor.commit(command(ReportProgress("A", report), by: driver("42")))
        let again = try executor.commit(command(ReportProgress("A", report), by: driver("42")), at: noon + 60_000)
        guard case .committed(let one) = first, case .committed(let other) = again else {
            Issue.record("\(first) \(again)")
            return
        }
        #expect(one.position != nil && other.isRepetition && other.position == nil)
    }

    /// - Parameter isCopied: whether the positions are in the database file, or still in the log, when they are deleted.
    @Test(.fileOnly, arguments: [true, false]) func deletedPositionsAreInNoFile(isCopied: Bool) throws {
        let executor = try store.executor()
        try executor.runBackgroundTasks()  // those of the start end with a checkpoint, too
        try arriveTwice(executor)
        if isCopied { try executor.database.sqlite?.checkpoint() }
        let before = try positionsInFiles()
        #expect(before == (file: isCopied, log: !isCopied))
        try runRetention(executor, at: noon + 24 * Self.hour + Self.minute)
        let after = try positionsInFiles()
        #expect(after == (file: false, log: false))
        #expect(try executor.database.integrityCheck() == ["ok"])
    }
}
