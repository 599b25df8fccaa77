extension String {
    /// The string with an escape for each character that a terminal would interpret instead of showing: control and
    /// format characters (such as bidirectional marks), line and paragraph separators. Escapes have Swift's form:
    /// `\u{9b}`.
    package var terminalEscaped: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var escaped = ""
        for scalar in unicodeScalars {
            if scalar.isControl {
                escaped += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension Unicode.Scalar {
    /// Whether a terminal interprets the scalar instead of showing it.
    package var isControl: Bool {
        // Looking up a category takes long, and most scalars are ASCII.
        if isASCII { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
