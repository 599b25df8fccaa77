/// Numbers and columns as people read them on a terminal.
extension Int {
    /// With a comma between groups of three digits.
    package var grouped: String {
        let digits = Array(String(magnitude))
        let groups = digits.indices.map { index in
            (index > 0 && (digits.count - index) % 3 == 0 ? "," : "") + String(digits[index])
        }
        return (self < 0 ? "-" : "") + groups.joined()
    }

    /// A number of bytes, such as `1.50 MB`.
    package var byteText: String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var (value, unit) = (Double(self), 0)
        while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
        return unit == 0 ? "\(self) B" : "\(value.threeDigits) \(units[unit])"
    }
}

extension Double {
    /// A number of at least 0 with two decimals below 10, one below 100, and none above.
    package var threeDigits: String {
        if self >= 99.95 { return Int(rounded()).grouped }
        let scale = self < 9.995 ? 100 : 10
        let scaled = Int((self * Double(scale)).rounded())
        let decimals = String(scaled % scale)
        return "\(scaled / scale)." + String(repeating: "0", count: String(scale).count - 1 - decimals.count) + decimals
    }
}

extension String {
    /// With spaces before it, up to this number of characters.
    package func paddedLeft(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
    /// With spaces after it, up to this number of characters.
    package func paddedRight(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
