/// A rendered notification for one device, before it is encoded for its provider.
package struct PushMessage: Equatable, Sendable {
    /// The id of the notification in the store.
    package var notificationID: String
    /// The first line; may be empty if the body is not.
    package var title: String
    /// The text below the title; may be empty if the title is not.
    package var body: String
    /// The sound's name; empty: none.
    package var sound: String
    /// APNs' category, which selects the notification's actions; empty: none.
    package var category: String
    /// APNs' thread-id, by which devices group notifications; empty: none.
    package var thread: String
    /// Android's notification channel; empty: the app's default.
    package var channelID: String
    /// Whether the push wakes a sleeping device.
    package var isHighPriority: Bool
    /// When the notification expires: milliseconds since 1970.
    package var expiresAt: Int64
    /// The apns-collapse-id and FCM's `tag`: a newer notification with the same collapse id replaces this one on the
    /// device. At most 64 bytes of printable ASCII.
    package var collapseID: String
    /// FCM's `collapse_key`; nil: none.
    package var collapseKey: CollapseKey?
    /// The number of the recipient's unread notifications, including this one: at least 1.
    package var badge: Int
    /// The data fields before `title` and `message`: type, event, notification id, and the entity that a tap opens.
    package var leadingFields: [Field]
    /// The data fields after `title` and `message`: those of the event.
    package var eventFields: [Field]

    /// A data field for the app.
    package struct Field: Equatable, Sendable {
        package let name: String
        package var value: String
        /// True if apps rely on the field: its value is then never cut.
        package let isRequired: Bool

        package init(_ name: String, _ value: String, isRequired: Bool = false) {
            self.name = name
            self.value = value
            self.isRequired = isRequired
        }

        /// Compares bytes: names are untrusted, and Swift's == is slow for strings with many combining marks.
        func isNamed(_ name: String) -> Bool {
            self.name.utf8.count == name.utf8.count && self.name.utf8.elementsEqual(name.utf8)
        }

        /// Compares bytes: Swift's == treats canonically equivalent texts as equal, even if their lengths differ.
        package static func == (one: Field, other: Field) -> Bool {
            one.name.utf8.elementsEqual(other.name.utf8) && one.value.utf8.elementsEqual(other.value.utf8)
                && one.isRequired == other.isRequired
        }
    }

    /// All data fields, in the contract's order. Names are unique.
    package var data: [Field] {
        leadingFields + [Field("title", title, isRequired: true), Field("message", body, isRequired: true)] + eventFields
    }
}

extension PushMessage {
    /// FCM's `collapse_key`. While a device is offline, FCM keeps only the latest message of each key, for at most four
    /// keys, which FCM chooses.
    ///
    /// Notification messages without a key collapse as well: FCM keeps only the latest of them all. A key per order
    /// would make hundreds of keys; one key for all would let a cancellation replace a new job. With a key per kind of
    /// update, the device gets the latest new job, the latest change of a job, and the same for routes. The app gets
    /// all other updates when it connects. On the device, `tag` decides which older notification a new one replaces:
    /// that of the same order. The number of tags is not limited.
    package enum CollapseKey: String, CaseIterable, Sendable {
        case newJob = "new_job"
        case jobUpdate = "job_update"
        case newRoute = "new_route"
        case routeUpdate = "route_update"
    }
}
