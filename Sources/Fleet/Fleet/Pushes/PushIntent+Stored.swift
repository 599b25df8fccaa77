extension PushIntent.Entity {
    /// The text in the column `entity`: `job:B-17`, `route:R-3`.
    var stored: String {
        switch self {
        case .job(let id): "job:\(id)"
        case .route(let id): "route:\(id)"
        }
    }

    /// Nil if the text has neither prefix. Compares bytes instead of Characters: if the id begins with a combining
    /// mark, the mark and the colon are one Character, which differs from a colon.
    init?(stored text: String) {
        if text.utf8.starts(with: "job:".utf8) {
            self = .job(String(Substring(text.utf8.dropFirst(4))))
        } else if text.utf8.starts(with: "route:".utf8) {
            self = .route(String(Substring(text.utf8.dropFirst(6))))
        } else {
            return nil
        }
    }
}

extension PushIntent.Entity: ColumnValue {
    var sqlValue: SQLValue { .string(stored) }
    init?(_ row: Row, _ column: Int32) { self.init(stored: row.string(column)) }
    static var blank: Self { .job("") }
}
