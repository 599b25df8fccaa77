/// A metric family: the samples of one name, for the Prometheus text exposition format (version 0.0.4).
package struct MetricFamily: Sendable {
    /// The family's type in the exposition.
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    package typealias Labels = [(name: String, value: String)]

    private struct Sample {
        /// Appended to the family's name: `_bucket`, `_sum` or `_count` for the samples of histograms.
        var suffix = ""
        let labels: Labels
        let value: String
    }

    private let name: String
    private let help: String
    private let kind: Kind
    private let samples: [Sample]

    /// Counters or gauges.
    /// - Parameters:
    ///   - name: without the prefix of all metrics: `connected`.
    ///   - help: one line of text.
    ///   - samples: labels and value of each sample.
    package init(_ name: String, _ kind: Kind, _ help: String, samples: [(labels: Labels, value: String)]) {
        self.name = name
        self.help = help
        self.kind = kind
        self.samples = samples.map { Sample(labels: $0.labels, value: $0.value) }
    }

    /// A counter or gauge without labels.
    package init(_ name: String, _ kind: Kind, _ help: String, _ value: some Numeric) {
        self.init(name, kind, help, samples: [([], "\(value)")])
    }

    /// Counters or gauges that differ in one label.
    package init(_ name: String, _ kind: Kind, _ help: String, by label: String, _ values: [(String, Int)]) {
        self.init(name, kind, help, samples: values.map { ([(label, $0)], String($1)) })
    }

    /// A histogram without labels.
    package init(_ name: String, _ help: String, _ histogram: Histogram) { self.init(name, help, [([], histogram)]) }

    /// Histograms that differ in their labels.
    package init(_ name: String, _ help: String, _ histograms: [(labels: Labels, histogram: Histogram)]) {
        self.name = name
        self.help = help
        kind = .histogram
        samples = histograms.flatMap { labels, histogram in Self.samples(labels, histogram) }
    }

    private static func samples(_ labels: Labels, _ histogram: Histogram) -> [Sample] {
        let (count, sum) = (String(histogram.count), String(histogram.sum))
        return histogram.cumulative.map {
            Sample(suffix: "_bucket", labels: labels + [("le", String($0.bound))], value: String($0.count))
        } + [
            Sample(suffix: "_bucket", labels: labels + [("le", "+Inf")], value: count),
            Sample(suffix: "_sum", labels: labels, value: sum),
            Sample(suffix: "_count", labels: labels, value: count),
        ]
    }

    /// The family in the exposition.
    /// - Parameter prefix: stands before the name, with an underscore.
    func text(prefix: String) -> String {
        let name = "\(prefix)_\(name)"
        var text = "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
            text += "\(name)\(sample.suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
        }
        return text
    }

    private static func escaped(_ value: String) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {  // not characters: "\r\n" is a single character
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
