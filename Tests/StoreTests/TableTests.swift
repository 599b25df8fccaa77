import JSON
import Primitives
import Testing

@testable import Fleet

/// What a ``Table`` says of its columns.
@Suite struct TableTests {
    private let store = TemporaryStore()

    /// A table as the code states it.
    private struct Stated {
        let name: String
        let columns: [String]

        /// - Parameter besides: columns that only statements of their own write.
        init<Record>(_ table: Table<Record>, besides: [String] = []) {
            name = table.name
            columns = Record.columnNames + table.others + besides
        }
    }

    private static let tables = [
        Stated(OrderTable.table), Stated(RouteTable.table), Stated(DriverTable.table), Stated(DriverPositionTable.table),
        Stated(BatchTable.table), Stated(BatchOrderTable.table, besides: ["report_response"]),
        Stated(AccountTable.table), Stated(CustomerTable.table, besides: ["email_refusals"]), Stated(SignInCodeTable.table),
        Stated(SignInCodeTable.sends), Stated(DeviceTable.table, besides: ["quarantined_at"]),
        Stated(PushBroadcastTable.table), Stated(ReadMarkTable.table), Stated(NotificationStepTable.table),
        Stated(IdempotencyTable.table), Stated(ClockTable.table), Stated(AuditTable.table, besides: ["notification"]),
        Stated(
            NotificationTable.table,
            besides: ["number", "seen_at", "written_at", "confirmed_at", "acknowledged_at", "device"]),
        Stated(SignInCodeLimitTable.prefixes), Stated(SignInCodeLimitTable.addresses), Stated(EndedTokenTable.table),
    ]

    @Test func eachHasTheColumnsOfTheSchema() throws {
        let database = try store.executor().database
        for table in Self.tables {
            let query =
                database.sqlite == nil
                ? "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema AND table_name = "
                : "SELECT name FROM pragma_table_info WHERE arg = "
            #expect(try database.dump("\(query)'\(table.name)'").sorted() == table.columns.sorted(), "\(table.name)")
        }
    }

    // MARK: Records

    private struct Visit: Equatable, RowRecord {
        let guest: String
        var nights: Int?
        var host: Host?
        var isOver = false
        var rate: Double?
        var note: Note?

        struct Host: Equatable, RowRecord {
            let id: ObjectID
            let name: String?

            static func columns(_ column: inout some ColumnVisitor<Host>) throws(DatabaseError) -> Host {
                try Host(id: column("id", \.id), name: column("name", \.name))
            }
        }

        struct Note: Equatable, RowRecord {
            let status: JobStatus
            let text: String

            static func columns(_ column: inout some ColumnVisitor<Note>) throws(DatabaseError) -> Note {
                try Note(status: column("status", \.status), text: column("text", \.text))
            }
        }

        static func columns(_ column: inout some ColumnVisitor<Visit>) throws(DatabaseError) -> Visit {
            var visit = Visit(guest: try column("guest", \.guest))
            visit.host = try column.part(orNull: \.host) { "host_\($0)" }
            try column("nights", \.nights, in: &visit)
            visit.note = try column.part(ifReadable: \.note)
            try column("is_over", \.isOver, in: &visit)
            try column("rate", \.rate, in: &visit)
            return visit
        }
    }

    private static let visits = Table<Visit>(
        "visits", key: ["guest"], others: ["created_at", "updated_at"], constant: ["created_at"],
        update: ["changes = visits.changes + 1"])
    private static let select = visits.select("WHERE guest = ?", and: "updated_at")
    private static let full = Visit(
        guest: "ann", nights: 3, host: Visit.Host(id: .sample(7), name: "bob"), isOver: true, rate: 12.5,
        note: Visit.Note(status: .enRoute, text: "late"))

    @Test func statesItsStatements() {
        #expect(
            Self.visits.upsert.text == """
                INSERT INTO visits (guest, host_id, host_name, nights, status, text, is_over, rate, created_at, updated_at) \
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (guest) DO UPDATE SET host_id = excluded.host_id, \
                host_name = excluded.host_name, nights = excluded.nights, status = excluded.status, text = excluded.text, \
                is_over = excluded.is_over, rate = excluded.rate, updated_at = excluded.updated_at, \
                changes = visits.changes + 1
                """)
        #expect(Self.visits.insertNew.text == "\(Self.visits.insert.text) ON CONFLICT (guest) DO NOTHING")
        #expect(
            Self.select.text == """
                SELECT guest, host_id, host_name, nights, status, text, is_over, rate, updated_at FROM visits WHERE guest = ?
                """)
    }

    private func withVisits(_ body: (Database) throws -> Void) throws {
        let database = try store.executor().database
        try database.run(
            """
            CREATE TABLE visits (guest TEXT NOT NULL PRIMARY KEY, nights BIGINT, host_id TEXT, host_name TEXT, status TEXT, \
            text TEXT, is_over BIGINT, rate TEXT, created_at BIGINT, updated_at BIGINT, changes BIGINT NOT NULL DEFAULT 0)
            """)
        try body(database)
    }

    private func visit(_ guest: String, _ database: Database) throws -> (visit: Visit, updatedAt: Int64)? {
        try database.first(
            Self.select, .string(guest),
            as: { row throws(DatabaseError) in (try Visit(row: row), row.integer(Self.visits.end)) })
    }

    @Test func readsWhatItHasWritten() throws {
        try withVisits { database in
            for (index, visit) in [Visit(guest: "ann"), Self.full, Visit(guest: "ann")].enumerated() {
                let now = SQLValue.integer(index)
                try database.change(Self.visits.upsert, Self.visits.values(of: visit, now, now))
                let stored = try #require(try self.visit("ann", database))
                #expect(stored == (visit, Int64(index)))
            }
            #expect(try database.dump("SELECT * FROM visits") == ["ann|-|-|-|-|-|0|-|0|2|2"])
        }
    }

    @Test func whatItDoesNotWriteIsUnreadableUnlessItMayBeMissing() throws {
        try withVisits { database in
            try database.change(Self.visits.upsert, Self.visits.values(of: Self.full, .integer(1), .integer(1)))
            try database.run("UPDATE visits SET rate = 'much', status = 'lost'")
            var expected = Self.full
            (expected.rate, expected.note) = (nil, nil)
            #expect(try visit("ann", database)?.visit == expected)
            try database.run("UPDATE visits SET host_id = 'bob'")
            let error = #expect(throws: DatabaseError.self) { try visit("ann", database) }
            #expect(error?.kind == .unreadable && error?.message == "cannot read the id 'bob'")
        }
    }

    // MARK: Records of commits

    /// Nodes of other versions read the rows of ``CommitRecord``, so their columns stay where they are.
    @Test func recordsOfCommitsKeepTheirColumns() {
        #expect(
            Order.columnList == """
                code, status, driver_id, driver_name, version, booking_id, booking_reference, customer_id, customer_name, \
                pickup_address, dropoff_address, scheduled_at, total_gbp, pickup_latitude, pickup_longitude, dropoff_latitude, \
                dropoff_longitude, trip_started_at, arrived_at, arrived_by_position, departed_at, completed_at, \
                nearby_told_at, waiting_told_at, destination_near_told_at, trip_driver_name, corrected_at, left_at
                """)
        #expect(
            DriverCard.columnList
                == "id, version, name, phone_number, vehicle_make, vehicle_model, vehicle_color, license_plate")
        #expect(
            DriverPosition.columnList == "driver_id, latitude, longitude, heading, accuracy, recorded_at, speed")
    }
}
