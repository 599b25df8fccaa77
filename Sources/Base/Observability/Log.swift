import Primitives
import Threads

/// A structured log: each record is one line, in JSON or text, encoded on the thread that logs.
///
/// A record has an event name (`snake_case`) and fields instead of a sentence, so that tools can find and count events.
package struct Log: Sendable {
    /// The severity of a record, in ascending order.
    package enum Level: Int, Sendable, CaseIterable {
        case debug
        case info
        case warning
        case error
    }

    /// The form of a line: a JSON object, or `time level event name=value …`.
    package enum Format: Sendable {
        case json
        case text
    }

    /// A field's value: a string or an integer. A field that is absent is left out.
    package enum Value: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByStringInterpolation {
        case text(String)
        case number(Int)
        case absent

        /// A string; absent if it is nil.
        package static func optional(_ text: String?) -> Value { text.map { .text($0) } ?? .absent }

        /// Makes a literal or an interpolated string a field's value.
        package init(stringLiteral value: String) { self = .text(value) }
        /// Makes an integer literal a field's value.
        package init(integerLiteral value: Int) { self = .number(value) }
    }

    private let level: Level
    private let format: Format
    private let sink: @Sendable (String) -> Void

    /// - Parameters:
    ///   - level: records below it are dropped.
    ///   - sink: receives each line with its newline; any thread may call it, and it must not block: see ``LogWriter``.
    package init(level: Level, format: Format, sink: @escaping @Sendable (String) -> Void) {
        self.level = level
        self.format = format
        self.sink = sink
    }

    /// Whether records of this level are written. Check it before building expensive fields.
    package func writes(_ level: Level) -> Bool { level.rawValue >= self.level.rawValue }

    /// Writes a record of the level `debug`.
    package func debug(_ event: String, _ fields: KeyValuePairs<String, Value> = [:]) { write(.debug, event, fields) }
    /// Writes a record of the level `info`.
    package func info(_ event: String, _ fields: KeyValuePairs<String, Value> = [:]) { write(.info, event, fields) }
    /// Writes a record of the level `warning`.
    package func warning(_ event: String, _ fields: KeyValuePairs<String, Value> = [:]) { write(.warning, event, fields) }
    /// Writes a record of the level `error`.
    package func error(_ event: String, _ fields: KeyValuePairs<String, Value> = [:]) { write(.error, event, fields) }

    func write(_ level: Level, _ event: String, _ fields: KeyValuePairs<String, Value>) {
        if writes(level) { sink(Self.line(level, event, fields, format)) }
    }

    /// A record of the current time as a line with its newline.
    static func line(_ level: Level, _ event: String, _ fields: KeyValuePairs<String, Value>, _ format: Format) -> String {
        let time = Timestamp.iso8601(milliseconds: Clock.unixMilliseconds())
        switch format {
        case .json:
            var line = #"{"time":"\#(time)","level":"\#(level.name)","event":"#
            line.append(quoted: event)
            for (name, value) in fields where !value.isAbsent {
                line += ","
                line.append(quoted: name)
                line += ":"
                line.append(value)
            }
            return line + "}\n"
        case .text:
            var line = "\(time) \(level.name) \(event)"
            for (name, value) in fields where !value.isAbsent {
                line += " "
                line += name
                line += "="
                line.append(value)
            }
            return line + "\n"
        }
    }
}

extension Log.Value {
    fileprivate var isAbsent: Bool { if case .absent = self { true } else { false } }
}

extension Log.Level {
    /// The name in a line. Not by interpolation of the case: that reads the type's metadata.
    fileprivate var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }
}

extension String {
    fileprivate mutating func append(_ value: Log.Value) {
        switch value {
        case .text(let text): append(quoted: text)
        case .number(let number): self += String(number)
        case .absent: break
        }
    }

    /// Appends a JSON string. Control and format characters are escaped, so that a record is always one line and cannot
    /// send commands to a terminal.
    fileprivate mutating func append(quoted text: String) {
        self += "\""
        if text.utf8.allSatisfy(\.isPlain) {
            self += text  // almost always, and several times faster than scalar by scalar
        } else {
            for scalar in text.unicodeScalars { append(escaped: scalar) }
        }
        self += "\""
    }

    private mutating func append(escaped scalar: Unicode.Scalar) {
        switch scalar {
        case "\"", "\\": self += "\\\(scalar)"
        case _ where scalar.isControl:
            for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
                let digits = String(unit, radix: 16)
                self += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        default: unicodeScalars.append(scalar)
        }
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII character that a line contains as it is.
    fileprivate var isPlain: Bool {
        self >= 0x20 && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
