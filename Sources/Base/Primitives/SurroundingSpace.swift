extension String {
    /// The text without white space around it, Unicode's included, such as a no-break space: keyboards and copied texts add
    /// it to names, e-mail addresses and URLs.
    package var withoutSurroundingSpace: String {
        let scalars = unicodeScalars.drop { $0.properties.isWhitespace }
        guard let last = scalars.lastIndex(where: { !$0.properties.isWhitespace }) else { return "" }
        return String(scalars[...last])
    }

    /// The text without any white space: a code that somebody has typed in groups of digits.
    package var withoutSpaces: String {
        var scalars = unicodeScalars
        scalars.removeAll { $0.properties.isWhitespace }
        return String(scalars)
    }
}
