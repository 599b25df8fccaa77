/// Texts and push options of notifications: one entry per event name or notification type.
package struct NotificationCatalogue: Equatable, Sendable {
    private var entries: [String: Entry]

    /// - Precondition: no two entries have the same name.
    package init(_ entries: [Entry]) {
        self.entries = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0) })
    }

    /// The entry with exactly this name; nil if there is none. ``CatalogueIndex`` finds the entry of an event.
    package func entry(for name: String) -> Entry? {
        entries[name]
    }

    /// The names of all entries, sorted.
    package var names: [String] { entries.keys.sorted() }

    /// Changes the entry with this name. If there is none, adds one with the defaults of ``Entry/init(_:)`` first.
    package mutating func update(_ name: String, by change: (inout Entry) -> Void) {
        change(&entries[name, default: Entry(name)])
    }

    /// Whether a notification for one person is also pushed to the person's devices.
    package enum PushMode: String, CaseIterable, Sendable {
        /// Always.
        case mirror
        /// Only if the recipient is not connected.
        case fallback
        /// Never.
        case off
    }

    /// A field with a fixed text that an entry adds to its events.
    package struct DataField: Equatable, Sendable {
        package let name: String
        package let text: String

        package init(_ name: String, _ text: String) {
            self.name = name
            self.text = text
        }
    }
}

extension NotificationCatalogue {
    /// The text and the push options of one event or notification type.
    package struct Entry: Equatable, Sendable {
        /// The event's name, or the notification's type.
        package let name: String
        /// The value of `type` in the push data. Apps use it to select the screen to open.
        package var dataType: String
        /// The push's title. May be empty.
        package var title: Template = ""
        /// The push's text. By default, the field `message` of the event.
        package var body: Template = "{message}"
        /// The sound's name; empty: the push is silent.
        package var sound = "default"
        /// The iOS category, which selects the action buttons; empty: no category.
        package var category = ""
        /// The thread by which iOS groups notifications; empty: iOS groups by app.
        package var thread = ""
        /// The Android notification channel; empty: the app's default channel.
        package var channelID = ""
        package var priority = Priority.high
        /// Seconds until the notification expires, from 1 to FCM's maximum of 28 days (2,419,200). An expired
        /// notification is not pushed.
        package var lifetimeSeconds: Int
        package var collapse = Collapse.notification
        /// Whether the notification is pushed during quiet hours too.
        package var urgent = false
        /// For notifications of one person. Nil if the general mode (`push.mode`) applies.
        package var push: PushMode?
        /// Whether notifications on `drivers-channel` are pushed to all drivers. Announcements to all drivers are
        /// pushed even if it is false.
        package var broadcast = false
        /// Fields that are added to the event's data, and so to the push, unless the sender set them. At most 10.
        package var data: [DataField] = []

        /// An entry with default values. ``dataType`` and ``lifetimeSeconds`` depend on the name.
        package init(_ name: String) {
            self.name = name
            dataType = Self.defaultDataType(of: name)
            lifetimeSeconds = Self.defaultLifetimeSeconds(ofType: dataType)
        }

        package enum Priority: String, CaseIterable, Sendable {
            /// Wakes a sleeping device.
            case high
            /// A sleeping device may receive the push later.
            case normal
        }

        /// Which earlier pushes a new push replaces on the device.
        package enum Collapse: String, CaseIterable, Sendable {
            /// Only a copy of the same notification.
            case notification
            /// Every earlier push of the same order or route.
            case order
        }
    }
}

extension NotificationCatalogue.Entry {
    /// The default of ``dataType``: if `name` is an event's name, the type of that event; otherwise `name` is a type,
    /// and the default is `name` itself. Event names are in kebab case (`job-assigned`), types are not (`new_job`).
    private static func defaultDataType(of name: String) -> String {
        let isEvent = name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
        return isEvent ? EventNames.type(ofEvent: name) : name
    }

    /// The default lifetime of a type, in seconds.
    package static func defaultLifetimeSeconds(ofType dataType: String) -> Int {
        if let moment = TripMoment(rawValue: dataType) { return moment.lifetimeSeconds }
        return dataType == "new_job" ? 3_600 : 86_400  // After an hour, a job usually has another driver.
    }
}
