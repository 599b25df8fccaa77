import Addresses
import Primitives
import PusherProtocol

/// Subscriptions of apps that never sign: during a migration, a rule accepts them beside its access (`legacy` in the
/// configuration).
extension ChannelPolicy {
    /// Who may subscribe to the plain names of a rule without a signature.
    package struct Legacy: Equatable, Sendable {
        /// From this time on nobody, in milliseconds since 1970; nil: no end.
        package let until: Int64?
        /// The keys with which the connection may have been opened.
        package let keys: [String]
        /// The networks from which the client may come; empty: all.
        package let networks: [IPNetwork]
        /// The members of events' data that are null for these subscribers.
        package let hiddenMembers: [String]

        package init(until: Int64?, keys: [String], networks: [IPNetwork] = [], hiddenMembers: [String] = []) {
            self.until = until
            self.keys = keys
            self.networks = networks
            self.hiddenMembers = hiddenMembers
        }

        /// Whether the time is over.
        /// - Parameter now: milliseconds since 1970.
        package func isOver(at now: Int64) -> Bool { until.map { now >= $0 } ?? false }

        /// Whether a connection may subscribe.
        /// - Parameters:
        ///   - key: the application's key with which it was opened.
        ///   - address: the client's address; nil if it is not known.
        ///   - now: milliseconds since 1970.
        package func permits(key: String, address: IPAddress?, at now: Int64) -> Bool {
            guard !isOver(at: now), keys.contains(where: { $0.hasSameBytes(as: key) }) else { return false }
            return networks.isEmpty || address.map { address in networks.contains { $0.contains(address) } } ?? false
        }
    }

    /// The pattern of the first rule that matches a plain name, and its ``Legacy``; nil for other names, and for those that
    /// are open anyway.
    package func legacy(of channel: ChannelName) -> (pattern: String, legacy: Legacy)? {
        guard channel.access == .open, let rule = rule(for: channel)?.rule, rule.access != .open else { return nil }
        return rule.legacy.map { (rule.pattern, $0) }
    }

    /// All rules with ``Legacy``, in order.
    package var legacyRules: [(pattern: String, legacy: Legacy)] {
        rules.compactMap { rule in rule.legacy.map { (rule.pattern, $0) } }
    }
}
