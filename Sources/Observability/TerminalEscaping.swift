extension String {
    /// The text with escapes for whatever a terminal would obey instead of showing: control and format characters (bidirectional
    /// marks are among them), line and paragraph separators. `\\u{9b}`, as Swift writes it.
    package var terminalEscaped: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var legible = ""
        for scalar in unicodeScalars {
            if scalar.isControl {
                legible += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                legible.unicodeScalars.append(scalar)
            }
        }
        return legible
    }
}

extension Unicode.Scalar {
    /// Whether a terminal does something with it instead of showing it.
    var isControl: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
