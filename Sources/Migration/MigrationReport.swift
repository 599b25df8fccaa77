/// What a file uses, what differs here, and the configuration to start with.
///
/// Its text is a configuration as a whole: what people read is in comments, so that the output can be saved as it is.
package struct MigrationReport {
    /// What the file is: "a configuration of Soketi".
    let source: String
    /// What the file says.
    var used: [String] = []
    /// What differs here, or has no counterpart.
    var differences: [String] = []
    /// The environment variables that the configuration needs, and where their values are now.
    var secrets: [(variable: String, place: String)] = []
    var configuration: StarterConfiguration
    /// The page with all differences, relative to the repository.
    let page: String

    init(_ source: String, page: String, _ configuration: StarterConfiguration = StarterConfiguration()) {
        (self.source, self.page, self.configuration) = (source, page, configuration)
    }

    /// Other servers know no rules for public channels. The defaults here are those of a fleet.
    private static let ofChannels =
        "channels: [] lets everybody subscribe to public channels; serve --production wants rules for them, or "
        + "fleet.allow_open_channels: true"

    package var text: String {
        var lines = ["Found: \(source). All differences: \(page)", "", "Used:"]
        lines += used.isEmpty ? ["  nothing that is known here"] : used.map { "  - \($0)" }
        lines += ["", "Different here:"]
        lines += (differences + configuration.notes + [Self.ofChannels]).map { "  - \($0)" }
        if !secrets.isEmpty {
            lines += ["", "Set these variables first, so that no secret is in a file:"]
            lines += secrets.map { "  - \($0.variable): \($0.place)" }
        }
        lines += ["", "Save this as fleetwire.yaml, then: fleetwire check-config --config fleetwire.yaml"]
        return lines.map { $0.isEmpty ? "#" : "# \($0)" }.joined(separator: "\n") + "\n\n" + configuration.yaml
    }
}
