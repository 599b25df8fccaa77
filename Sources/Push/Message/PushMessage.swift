/// A notification in the words of its catalogue entry, for one phone, before it is written as its provider has it.
package struct PushMessage: Equatable, Sendable {
    package var notificationID: String
    /// The first line; may be empty if the body is not.
    package var title: String
    /// The text; may be empty if the title is not.
    package var body: String
    /// Empty: none.
    package var sound: String
    /// Empty: none.
    package var category: String
    /// Empty: none.
    package var thread: String
    /// Of Android; empty: the app's default.
    package var channelID: String
    /// Whether a sleeping phone is woken.
    package var isHighPriority: Bool
    /// Milliseconds since 1970.
    package var expiresAt: Int64
    /// What a newer one replaces on the phone (apns-collapse-id, FCM `tag`): at most 64 bytes of printable ASCII.
    package var collapseID: String
    /// FCM's `collapse_key`, for what a newer one supersedes; nil: none.
    package var collapseKey: CollapseKey?
    /// What the recipient has not read, this one included (1…).
    package var badge: Int
    /// What apps read before `title` and `message`: what it is and what a tap opens.
    package var ids: [Field]
    /// What apps read after them: what the event itself says.
    package var details: [Field]

    /// One of the texts that apps read.
    package struct Field: Equatable, Sendable {
        package let name: String
        package var value: String
        /// Promised to apps: it arrives whole.
        package let isRequired: Bool

        package init(_ name: String, _ value: String, isRequired: Bool = false) {
            self.name = name
            self.value = value
            self.isRequired = isRequired
        }

        /// Names come from outside, and Swift's == on texts takes its time with combining marks: they are compared as bytes.
        func isNamed(_ name: String) -> Bool {
            self.name.utf8.count == name.utf8.count && self.name.utf8.elementsEqual(name.utf8)
        }

        /// As bytes: a shortened accent is another text, whatever Unicode holds equivalent.
        package static func == (one: Field, other: Field) -> Bool {
            one.name.utf8.elementsEqual(other.name.utf8) && one.value.utf8.elementsEqual(other.value.utf8)
                && one.isRequired == other.isRequired
        }
    }

    /// All that apps read, in the contract's order. Names are unique.
    package var data: [Field] {
        ids + [Field("title", title, isRequired: true), Field("message", body, isRequired: true)] + details
    }
}

extension PushMessage {
    /// FCM's `collapse_key`. A phone that is switched off is kept one message of each key, of four keys at most, and nobody
    /// can say which four.
    ///
    /// Messages that are shown collapse in any case, without a key all into one. A key for each order would be one of
    /// hundreds; one key for all would let a cancellation swallow a new job. With one for each kind of news the latest of each
    /// kind gets through: the new job, that another is gone, and the same of routes. What was swallowed the app hears when it
    /// connects; what is shown of one order replaces what was shown before by its tag, which has no such limit.
    package enum CollapseKey: String, CaseIterable, Sendable {
        case newJob = "new_job"
        case jobUpdate = "job_update"
        case newRoute = "new_route"
        case routeUpdate = "route_update"
    }
}
