import JSON

extension PushJobTable.PushJobSummary {
    /// The steps that a job adds to its notification's history: that it was queued, and how it ended.
    func steps(of notificationID: String) -> [NotificationStep] {
        var steps = [step("push_queued", of: notificationID, at: queuedAt, isLast: settledAt == nil)]
        if let settledAt {
            steps.append(step("push_\(state.rawValue)", of: notificationID, at: settledAt, isLast: true))
        }
        return steps
    }

    /// - Parameter isLast: true for the job's latest step. Only this step includes the attempts, the reason and the
    ///   provider's message id.
    private func step(_ step: String, of notificationID: String, at: Int64, isLast: Bool) -> NotificationStep {
        var detail = JSONWriter()
        detail.object {
            $0.member("provider", lane?.provider.rawValue)
            $0.member("device", device)
            guard isLast else { return }
            $0.member("attempts", attempts)
            $0.member("reason", ifPresent: reason)
            $0.member("messageId", ifPresent: messageID)
        }
        return NotificationStep(step, of: notificationID, at: at, subject: recipient, detail: detail.bytes)
    }
}
