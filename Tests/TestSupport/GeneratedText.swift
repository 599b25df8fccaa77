/// A text as people, keyboards and attackers send it, and what is known of it because it was made so: which characters a name
/// may not have, and what the white space around it is. The lists are written down, not taken from Unicode's tables, which
/// the sources use.
package struct GeneratedText {
    private enum Kind {
        /// May stand in a name.
        case plain
        /// White space that may stand in a name.
        case space
        /// Hides or reorders the text beside it, or ends the line.
        case hidden
        /// The same, and white space, which goes where it is around a text.
        case hiddenSpace
    }

    private struct Mark {
        let scalar: Unicode.Scalar
        let kind: Kind
    }

    private var marks: [Mark] = []

    /// Letters of one to four bytes, combining marks, joiners, variation selectors, private and unassigned characters, and a
    /// replacement character.
    private static let plain: [Unicode.Scalar] = [
        "a", "Z", "0", "\"", "\\", "/", "<", "&", "'", "\u{E9}", "\u{301}", "\u{316}", "\u{646}", "\u{645}", "\u{D30}", "\u{D4D}",
        "\u{200C}", "\u{200D}", "\u{FE0F}", "\u{4E16}", "\u{212A}", "\u{37E}", "\u{FFFD}", "\u{E000}", "\u{FFFE}", "\u{378}",
        "\u{10000}", "\u{1F600}", "\u{1F468}", "\u{E0100}", "\u{10FFFF}", "\u{115F}", "\u{2800}",
    ]
    private static let spaces: [Unicode.Scalar] = [" ", "\u{A0}", "\u{1680}", "\u{2003}", "\u{2009}", "\u{202F}", "\u{3000}"]
    /// Control characters, soft hyphen, marks of direction, zero-width space, byte order mark, tags, and others of Cf.
    private static let hidden: [Unicode.Scalar] = [
        "\u{1}", "\u{7}", "\u{8}", "\u{1B}", "\u{1F}", "\u{7F}", "\u{80}", "\u{9F}", "\u{AD}", "\u{600}", "\u{61C}", "\u{6DD}",
        "\u{180E}", "\u{200B}", "\u{200E}", "\u{200F}", "\u{202A}", "\u{202D}", "\u{202E}", "\u{2060}", "\u{2066}", "\u{2069}",
        "\u{206F}", "\u{FEFF}", "\u{FFF9}", "\u{110BD}", "\u{1BCA0}", "\u{1D173}", "\u{E0001}", "\u{E0020}", "\u{E007F}",
    ]
    private static let hiddenSpaces: [Unicode.Scalar] = ["\t", "\n", "\u{B}", "\u{C}", "\r", "\u{85}", "\u{2028}", "\u{2029}"]

    /// A text that is short, or about as long as is permitted; in one of three with a hidden character somewhere, in one of
    /// three with white space around it.
    /// - Parameter scalarsMax: what is permitted, in Unicode scalars.
    package init(scalarsMax: Int, using random: inout SplitMix) {
        let length = random.chance(percent: 60) ? random.within(0...8) : random.within(scalarsMax - 2...scalarsMax + 2)
        marks = (0..<length).map { _ in
            random.chance(percent: 15)
                ? Self.mark(Self.spaces, .space, &random) : Self.mark(Self.plain, .plain, &random)
        }
        if length > 0, random.chance(percent: 33) {
            let isSpace = random.chance(percent: 30)
            marks[random.below(length)] =
                isSpace ? Self.mark(Self.hiddenSpaces, .hiddenSpace, &random) : Self.mark(Self.hidden, .hidden, &random)
        }
        guard random.chance(percent: 33) else { return }
        let around = { (random: inout SplitMix) in
            (0..<random.within(0...3)).map { _ in
                random.chance(percent: 50)
                    ? Self.mark(Self.spaces, .space, &random) : Self.mark(Self.hiddenSpaces, .hiddenSpace, &random)
            }
        }
        marks = around(&random) + marks + around(&random)
    }

    private static func mark(_ scalars: [Unicode.Scalar], _ kind: Kind, _ random: inout SplitMix) -> Mark {
        Mark(scalar: scalars[random.below(scalars.count)], kind: kind)
    }

    package var text: String { String(String.UnicodeScalarView(marks.map(\.scalar))) }

    package var scalarCount: Int { marks.count }

    /// Whether it has no character that a name may not have.
    package var isDisplayable: Bool { marks.allSatisfy { $0.kind == .plain || $0.kind == .space } }

    package var isEmpty: Bool { marks.isEmpty }

    /// Whether there is white space around it.
    package var hasSpaceAround: Bool { trimmed.scalarCount < scalarCount }

    /// Without the white space around it.
    package var trimmed: GeneratedText {
        let isSpace = { (mark: Mark) in mark.kind == .space || mark.kind == .hiddenSpace }
        var copy = self
        copy.marks = Array(marks.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
        return copy
    }

    /// The text as a JSON string, whose characters are written as themselves or as escapes (RFC 8259 section 7).
    package func json(using random: inout SplitMix) -> String {
        var json = "\""
        for mark in marks {
            let mustEscape = mark.scalar.value < 0x20 || mark.scalar == "\"" || mark.scalar == "\\"
            if mustEscape || random.chance(percent: 30) {
                for unit in UTF16.encode(mark.scalar) ?? UTF16.encodedReplacementCharacter {
                    let digits = String(unit, radix: 16, uppercase: random.chance(percent: 50))
                    json += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
                }
            } else {
                json.unicodeScalars.append(mark.scalar)
            }
        }
        return json + "\""
    }
}
