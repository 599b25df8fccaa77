import FanOut
import PusherProtocol

/// Subscriptions of apps that never sign: during a migration, a rule accepts them beside its access (`legacy` in the
/// configuration).
extension ChannelPolicy {
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
