/// What limits codes beside a phone's own: how many were sent in each hour, the prefixes of numbers, and the client addresses
/// from which phones have signed in. No number of rows that strangers determine has to be read for a code.
struct SignInCodeLimitTable {
    static let prefixes = Table<SignInCodePrefix>("code_prefixes", key: ["prefix"], others: ["prefix", "used_at"])
    static let addresses = Table<OwnAddress>(
        "own_addresses", key: ["phone", "digest"], others: ["phone"], constant: ["key_id"])

    let database: Database

    // MARK: Counts

    /// What codes are counted for.
    enum Subject: Hashable {
        case all, newPhones
        /// ``PhoneNumber/prefix(of:)`` of a phone without an account.
        case prefix(String)
        /// The digest of a client address that has asked for codes to phones without an account.
        case address(String)

        fileprivate var text: String {
            switch self {
            case .all: "all"
            case .newPhones: "new"
            case .prefix(let prefix): prefix
            case .address(let digest): "address \(digest)"
            }
        }
    }

    private static let hour: Int64 = 3_600_000

    /// Counts a code.
    func count(_ subject: Subject, at time: Int64) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO code_counts (subject, hour, codes) VALUES (?, ?, 1) \
            ON CONFLICT (subject, hour) DO UPDATE SET codes = code_counts.codes + 1
            """, .string(subject.text), .integer(time / Self.hour))
    }

    /// Takes back a code that was counted at `time`.
    func withdraw(_ subject: Subject, at time: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE code_counts SET codes = codes - 1 WHERE subject = ? AND hour = ? AND codes > 0", .string(subject.text),
            .integer(time / Self.hour))
    }

    /// The codes of at most four subjects in the last day, to the full hour: at most 25 rows of each.
    func counts(of subjects: [Subject], now: Int64) throws(DatabaseError) -> [Subject: Int] {
        precondition(subjects.count <= 4, "SignInCodeLimitTable.counts got more than four subjects")
        let texts = subjects.map { SQLValue.string($0.text) } + [SQLValue](repeating: .string(""), count: 4 - subjects.count)
        let counts = try database.all(
            """
            SELECT subject, CAST(SUM(codes) AS BIGINT) FROM code_counts WHERE subject IN (?, ?, ?, ?) \
            AND hour >= ? AND hour <= ? GROUP BY subject
            """, texts[0], texts[1], texts[2], texts[3], .integer((now - SignInCodeLimits.day) / Self.hour),
            .integer((now + SignInCodeSession.setBackMax) / Self.hour), as: { ($0.string(0), Int($0.integer(1))) })
        let byText = Dictionary(counts) { first, _ in first }
        return Dictionary(subjects.map { ($0, byText[$0.text] ?? 0) }) { first, _ in first }
    }

    // MARK: Prefixes

    /// A prefix of which nothing is stored has had no code.
    func prefix(_ prefix: String) throws(DatabaseError) -> SignInCodePrefix {
        try database.first(Self.selectPrefix, .string(prefix), as: SignInCodePrefix.init(row:)) ?? SignInCodePrefix()
    }

    private static let selectPrefix = prefixes.select("WHERE prefix = ?")

    func store(_ state: SignInCodePrefix, of prefix: String, now: Int64) throws(DatabaseError) {
        try database.change(Self.prefixes.upsert, Self.prefixes.values(of: state, .string(prefix), .integer(now)))
    }

    // MARK: Own addresses

    struct OwnAddress {
        /// That of phone and address.
        let digest: [UInt8]
        let keyID: String
        /// Milliseconds since 1970.
        let signedInAt: Int64
    }

    /// The addresses of a phone: at most ``SignInCodeLimits/ownAddressesMax``.
    func addresses(of phone: String) throws(DatabaseError) -> [OwnAddress] {
        try database.all(Self.selectAddresses, .string(phone), as: OwnAddress.init(row:))
    }

    private static let selectAddresses = addresses.select("WHERE phone = ?")

    /// Inserts or updates an address.
    func store(_ address: OwnAddress, of phone: String) throws(DatabaseError) {
        try database.change(Self.addresses.upsert, Self.addresses.values(of: address, .string(phone)))
    }

    func remove(_ address: OwnAddress, of phone: String) throws(DatabaseError) {
        try database.change(
            "DELETE FROM own_addresses WHERE phone = ? AND digest = ?", .string(phone), .blob(address.digest))
    }

    // MARK: Deletion

    /// Deletes what is stored about a phone. The counts say nothing about single phones.
    func erase(phone: String) throws(DatabaseError) {
        try database.change("DELETE FROM own_addresses WHERE phone = ?", .string(phone))
    }

    /// Deletes at most `most` counts, prefixes and addresses each that matter no more.
    /// - Returns: the number of deleted rows.
    func deleteExpired(now: Int64, most: Int) throws(DatabaseError) -> Int {
        let yesterday = now - SignInCodeLimits.day
        var count = try database.changeCountingRows(
            """
            DELETE FROM code_counts WHERE (subject, hour) IN (SELECT subject, hour FROM code_counts WHERE hour < ? \
            ORDER BY hour LIMIT ?)
            """, .integer(yesterday / Self.hour), .integer(most))
        count += try database.changeCountingRows(
            """
            DELETE FROM code_prefixes WHERE prefix IN (SELECT prefix FROM code_prefixes WHERE used_at <= ? \
            ORDER BY used_at LIMIT ?)
            """, .integer(yesterday), .integer(most))
        count += try database.changeCountingRows(
            """
            DELETE FROM own_addresses WHERE (phone, digest) IN (SELECT phone, digest FROM own_addresses \
            WHERE signed_in_at <= ? ORDER BY signed_in_at LIMIT ?)
            """, .integer(now - SignInCodeLimits.ownAddressTime), .integer(most))
        return count
    }
}

extension SignInCodePrefix: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try SignInCodePrefix(unused: column("unused", \.unused), stoppedAt: column("stopped_at", \.stoppedAt))
    }
}

extension SignInCodeLimitTable.OwnAddress: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            digest: column("digest", \.digest), keyID: column("key_id", \.keyID),
            signedInAt: column("signed_in_at", \.signedInAt))
    }
}
