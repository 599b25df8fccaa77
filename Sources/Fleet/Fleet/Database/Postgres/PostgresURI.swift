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

    // MARK: Parameters

    /// The names of parameters that libpq does not know, in the order written. Empty if an unencoded character of a password
    /// may stand among them, which no error must show.
    static func unknownParameters(_ text: String) -> [String] {
        // libpq looks for the first @ or /: before an @ stand the user and the password, whatever these contain.
        var rest = text.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
        if let end = rest.firstIndex(where: { "@/".utf8.contains($0) }), rest[end] == UInt8(ascii: "@") {
            rest = rest[end...].dropFirst()
        }
        let query = rest.drop { $0 != UInt8(ascii: "?") }.dropFirst()
        guard !query.contains(UInt8(ascii: "@")) else { return [] }
        let names = query.split(separator: UInt8(ascii: "&")).map { $0.prefix { $0 != UInt8(ascii: "=") } }
        return names.filter { name in
            let isName = name.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || $0 == UInt8(ascii: "_") }
            return isName && (1...40).contains(name.count) && !isKnown(String(decoding: name, as: UTF8.self))
        }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether libpq takes a parameter in a URI. `ssl=true` is one of JDBC that it takes, too.
    private static func isKnown(_ name: String) -> Bool {
        guard name != "ssl", let options = PQconndefaults() else { return true }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            if String(cString: keyword) == name { return true }
            option += 1
        }
        return false
    }

    /// What an operator wants who sets a parameter of another library.
    static func hint(_ name: String) -> String? {
        switch name {
        case "pgbouncer":
            "a pooler must pool sessions (pool_mode = session), because the gateway prepares statements and keeps an advisory lock"
        case "schema", "currentSchema": "a schema other than public is chosen by options=-csearch_path%3DNAME"
        case "connection_limit": "the number of connections is store.pool"
        default: nil
        }
    }
}
