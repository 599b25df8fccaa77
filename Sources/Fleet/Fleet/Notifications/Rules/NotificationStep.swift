/// A step in a notification's history. The store adds its own steps (`created`, `push_queued`, `read`…); apps report
/// the others (`received`, `action_accept`…).
package struct NotificationStep: Equatable, Sendable {
    /// The notification's id. An app may also report an id that is not in the log.
    package let notificationID: String
    /// `created`, `push_queued`, `received`, `action_accept`…
    package let step: String
    /// ``Identity/key`` of the reporter (not always the recipient) or of the push job's recipient; empty if the
    /// step has neither.
    package let subject: String
    /// The device that the step concerns, as its client names it (``ReceiptKey/device``); nil if the step concerns no
    /// single device.
    package let device: String?
    /// When the step happened or, if an app reported it, when the report arrived: milliseconds since 1970.
    package let at: Int64
    /// The reporter's timestamp, as sent; nil if no app reported the step.
    package let reportedAt: String?
    /// Further data, a JSON object; nil if there is none.
    package let detail: [UInt8]?

    package init(
        _ step: String, of notificationID: String, at: Int64, subject: String = "", device: String? = nil,
        reportedAt: String? = nil, detail: [UInt8]? = nil
    ) {
        self.notificationID = notificationID
        self.step = step
        self.subject = subject
        self.device = device
        self.at = at
        self.reportedAt = reportedAt
        self.detail = detail
    }
}
