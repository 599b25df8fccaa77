/// All that `/metrics` shows.
package struct MetricsRegistry {
    private let prefix: String
    private let sources: [() -> [MetricFamily]]

    /// - Parameters:
    ///   - prefix: of all names, without the underscore behind it.
    ///   - sources: those who count or measure, in the order of their families. Each is asked for its present figures.
    package init(prefix: String, _ sources: [() -> [MetricFamily]]) {
        self.prefix = prefix
        self.sources = sources
    }

    /// The exposition: the body of `/metrics`.
    package var text: String { sources.lazy.flatMap { $0() }.map { $0.text(prefix: prefix) }.joined() }
}
