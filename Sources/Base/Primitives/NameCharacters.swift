extension String {
    /// Whether the text can stand for a name on a screen: it has no control characters, line or paragraph separators, and no
    /// format characters, of which some reorder the text beside them (Unicode Standard Annex 9). The joiners U+200C and
    /// U+200D are permitted: the spelling of names in several scripts needs them, such as Malayalam and Persian.
    package var isDisplayableName: Bool { unicodeScalars.allSatisfy(\.isDisplayableInName) }
}

extension Unicode.Scalar {
    fileprivate var isDisplayableInName: Bool {
        // Looking up a category takes long, and most scalars are ASCII.
        if isASCII { return value >= 0x20 && value != 0x7F }
        return switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        case .format: value == 0x200C || value == 0x200D
        default: true
        }
    }
}
