/// The part of the notification catalogue that planning needs: lifetime, collapsing, what to push, fixed data.
package struct NotificationRules: Equatable, Sendable {
    /// The rule for one event.
    package struct Rule: Equatable, Sendable {
        /// Seconds from the event to its expiry.
        package let lifetimeSeconds: Int
        /// Whether a newer notification about the same order or route supersedes the event's notifications.
        package let collapsesByJob: Bool
        package let push: Push
        /// The `type` of the event's pushes.
        package let dataType: String
        /// ``NotificationCatalogue/Entry/data``.
        package let data: [NotificationCatalogue.DataField]

        /// Which of an event's notifications are pushed to devices.
        package struct Push: OptionSet, Sendable {
            /// Notifications for one person, and announcements.
            package static let personal = Push(rawValue: 1)
            /// Notifications for all drivers.
            package static let broadcast = Push(rawValue: 2)
            /// Those of ``personal`` are not pushed once their recipients have confirmed them otherwise.
            package static let fallback = Push(rawValue: 4)

            package let rawValue: Int

            package init(rawValue: Int) { self.rawValue = rawValue }
        }

        package init(
            lifetimeSeconds: Int, collapsesByJob: Bool, push: Push = .personal,
            dataType: String = "job_update", data: [NotificationCatalogue.DataField] = []
        ) {
            self.lifetimeSeconds = lifetimeSeconds
            self.collapsesByJob = collapsesByJob
            self.push = push
            self.dataType = dataType
            self.data = data
        }
    }

    /// By event name or notification type. The notifications of an event without a rule expire after one day, do not
    /// collapse and are not pushed.
    package var rules: [String: Rule] {
        didSet {
            index = CatalogueIndex(rules.keys)
            dataBytesMax = Self.dataBytesMax(rules)
        }
    }
    /// The maximum size of an event's `data`, in bytes.
    package var eventBytesMax: Int
    private var index: CatalogueIndex
    /// More than the bytes that an entry's ``Rule/data`` adds to an event, before JSON escapes any of them.
    private(set) var dataBytesMax: Int

    package init(rules: [String: Rule] = [:], eventBytesMax: Int = 10_240) {
        self.rules = rules
        index = CatalogueIndex(rules.keys)
        dataBytesMax = Self.dataBytesMax(rules)
        self.eventBytesMax = eventBytesMax
    }

    private static func dataBytesMax(_ rules: [String: Rule]) -> Int {
        // 6: quotes, colon and comma.
        rules.values.lazy.map { $0.data.reduce(0) { $0 + $1.name.utf8.count + $1.text.utf8.count + 6 } }.max() ?? 0
    }

    /// The rule for the event or, if there is none, for its notification type.
    package subscript(event: String) -> Rule { index.entryName(ofEvent: event).flatMap { rules[$0] } ?? Self.unlisted }

    /// The rule of every event that has none in ``rules``.
    private static let unlisted = Rule(lifetimeSeconds: 86_400, collapsesByJob: false, push: [])
}

extension NotificationRules {
    /// The rules of a catalogue.
    /// - Parameters:
    ///   - mode: the push mode of entries that set none.
    ///   - eventBytesMax: the maximum size of an event's `data`, in bytes.
    package init(_ catalogue: NotificationCatalogue, mode: NotificationCatalogue.PushMode, eventBytesMax: Int) {
        let entries = catalogue.names.compactMap { catalogue.entry(for: $0) }
        let rules = entries.map { ($0.name, Rule($0, mode: mode)) }
        self.init(rules: Dictionary(uniqueKeysWithValues: rules), eventBytesMax: eventBytesMax)
    }
}

extension NotificationRules.Rule {
    fileprivate init(_ entry: NotificationCatalogue.Entry, mode: NotificationCatalogue.PushMode) {
        var push: Push = []
        if entry.push ?? mode != .off { push.insert(.personal) }
        if entry.push ?? mode == .fallback { push.insert(.fallback) }
        if entry.broadcast { push.insert(.broadcast) }
        self.init(
            lifetimeSeconds: entry.lifetimeSeconds, collapsesByJob: entry.collapse == .order, push: push,
            dataType: entry.dataType, data: entry.data)
    }
}
