import CPostgres

/// The parts of a connection URI that may be shown.
struct PostgresURI {
    /// The URI without its password and parameters.
    let description: String

    /// - Parameter text: a URI as libpq reads it (PostgreSQL documentation, "Connection URIs").
    /// - Returns: nil if it is invalid. libpq's own error would show a part of it, which may be of the password.
    init?(_ text: String) {
        guard let options = PQconninfoParse(text, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var parts: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { parts[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        // Where a password has a character that is not encoded, its rest ends up in one of these.
        let database = parts["dbname"] ?? ""
        guard parts["host"]?.contains("@") != true, !database.contains("@"),
            (parts["port"] ?? "").utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: ",") })
        else { return nil }
        let user = parts["user"].map { $0 + "@" } ?? ""
        // A host that is a directory is a parameter of the URI.
        let host = parts["host"].flatMap { $0.hasPrefix("/") ? nil : $0 } ?? ""
        let port = parts["port"].map { ":" + $0 } ?? ""
        description = "postgresql://\(user)\(host)\(port)/\(database)"
    }
}
