/// What a report may show of a file: short, on one line, and without characters that a terminal would interpret.
package struct Excerpt {
    package let text: String

    /// - Parameter lengthMax: the longest excerpt, in characters of the file.
    package init(_ text: String, lengthMax: Int = 120) {
        var excerpt = ""
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < lengthMax else {
                excerpt += "…"
                break
            }
            count += 1
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                excerpt += "\\u{\(String(scalar.value, radix: 16))}"
            default: excerpt.unicodeScalars.append(scalar)
            }
        }
        self.text = excerpt
    }
}

/// Different texts in the order in which they came, of a bounded number.
struct Distinct {
    private let countMax: Int
    private let lengthMax: Int
    private(set) var texts: [String] = []
    /// How many came that found no place. A text may be counted several times.
    private(set) var omitted = 0

    init(countMax: Int = 40, lengthMax: Int = 120) { (self.countMax, self.lengthMax) = (countMax, lengthMax) }

    var isEmpty: Bool { texts.isEmpty }

    /// The number of texts, and of those that found no place.
    var count: Int { texts.count + omitted }

    mutating func add(_ text: String) {
        let excerpt = Excerpt(text, lengthMax: lengthMax).text
        guard !texts.contains(where: { $0.utf8.elementsEqual(excerpt.utf8) }) else { return }
        if texts.count < countMax { texts.append(excerpt) } else { omitted += 1 }
    }

    /// The texts, and how many more there were.
    var list: String { texts.joined(separator: ", ") + (omitted > 0 ? " and \(omitted) more" : "") }
}
