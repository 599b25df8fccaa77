/// A metric family: the samples of one name, for the Prometheus text exposition format (version 0.0.4).
package struct MetricFamily: Sendable {
    /// The family's type in the exposition.
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    private struct Sample {
        /// Appended to the family's name: `_bucket`, `_sum` or `_count` for the samples of histograms.
        var suffix = ""
        let labels: [(name: String, value: String)]
        let value: String
    }

    private let name: String
    private let help: String
    private let kind: Kind
    private let samples: [Sample]

    /// A family of counters or gauges.
    /// - Parameters:
    ///   - name: the full name with prefix: `fleetwire_connected`.
    ///   - help: one line of text.
    ///   - samples: labels and value of each sample; a family without labels has a single sample.
    package init(
        _ name: String, _ kind: Kind, help: String, samples: [(labels: [(name: String, value: String)], value: String)]
    ) {
        self.name = name
        self.help = help
        self.kind = kind
        self.samples = samples.map { Sample(labels: $0.labels, value: $0.value) }
    }

    /// A histogram without labels.
    /// - Parameters:
    ///   - buckets: ascending upper bounds with the number of observations that do not exceed them (cumulative).
    ///   - sum: the sum of all observed values.
    ///   - count: the number of all observations.
    package init(
        _ name: String, help: String, buckets: [(bound: Double, count: Int)], sum: Double, count: Int
    ) {
        self.name = name
        self.help = help
        kind = .histogram
        samples = Self.samples([], buckets, sum: sum, count: count)
    }

    /// Histograms that differ in their labels.
    package init(
        _ name: String, help: String, histograms: [(labels: [(name: String, value: String)], histogram: Histogram)]
    ) {
        self.name = name
        self.help = help
        kind = .histogram
        samples = histograms.flatMap { labels, histogram in
            Self.samples(labels, histogram.cumulative, sum: histogram.sum, count: histogram.count)
        }
    }

    private static func samples(
        _ labels: [(name: String, value: String)], _ buckets: [(bound: Double, count: Int)], sum: Double, count: Int
    ) -> [Sample] {
        buckets.map { Sample(suffix: "_bucket", labels: labels + [("le", String($0.bound))], value: String($0.count)) } + [
            Sample(suffix: "_bucket", labels: labels + [("le", "+Inf")], value: String(count)),
            Sample(suffix: "_sum", labels: labels, value: String(sum)),
            Sample(suffix: "_count", labels: labels, value: String(count)),
        ]
    }

    /// A family with a single sample, without labels.
    package init(_ name: String, _ kind: Kind, help: String, value: some BinaryInteger) {
        self.init(name, kind, help: help, samples: [([], String(value))])
    }

    /// The exposition of `families`: the body of `/metrics`.
    package static func text(_ families: [MetricFamily]) -> String {
        families.map(\.text).joined()
    }

    private var text: String {
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
