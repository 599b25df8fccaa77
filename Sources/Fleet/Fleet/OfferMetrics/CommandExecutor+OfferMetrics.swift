import Access

/// Records what drivers do with the jobs and routes that they are offered, for the metrics.
extension CommandExecutor {
    /// Records that a driver's app has reported a view or an accept for the first time.
    func recordOffer(
        _ kind: TelemetryEvent.Kind, of notification: NotificationTable.Head, by driver: Identity, _ now: Int64
    ) throws(DatabaseError) {
        guard kind == .viewed || kind == .accepted, Offer.isOffer(event: notification.event),
            notification.channel.hasSameBytes(as: driver.channel), let subject = try subject(of: notification)
        else { return }
        if try !steps.kinds(of: notification.id, by: driver.key).isSuperset(of: [.viewed, .accepted]) {
            let offer = Offer(
                notificationID: notification.id, driverID: driver.id, subject: subject, createdAt: notification.createdAt,
                pushedAt: try outbox.jobs.firstAccepted(of: notification.id, for: driver.key)?.at,
                isAccepted: try assignment(of: subject)?.acceptedBy == driver.id)
            counter.counts.occurrences.offers.append(.reported(offer, at: now))
        }
        if kind == .viewed { counter.counts.occurrences.offers.append(.viewed(notificationID: notification.id, at: now)) }
    }

    /// The order or route that a notification offers; nil if the operator has it collapse by itself: then nothing names the
    /// order of several that a booking may have.
    private func subject(of notification: NotificationTable.Head) throws(DatabaseError) -> Offer.Subject? {
        guard let logged = try notifications.notification(id: notification.id) else { return nil }
        return switch logged.notification.subject {
        case .order(let code): .job(code)
        case .route(let id): .route(id)
        default: nil
        }
    }

    private func assignment(of subject: Offer.Subject) throws(DatabaseError) -> Assignment? {
        switch subject {
        case .job(let code): try orders.order(code: code)?.assignment
        case .route(let id): try routes.route(id: id)?.assignment
        }
    }
}

extension Transaction {
    /// Records how a driver's accept was answered. A repeated one is none.
    /// - Parameters:
    ///   - subject: nil if there is no such job.
    ///   - before: the job's assignment before the accept.
    func recordAnswer(_ reply: CommandReply, _ subject: Offer.Subject?, _ before: Assignment?) {
        guard let subject, let before else { return }
        let answer: OfferAnswer
        switch reply {
        case .committed(let result) where result.audit != nil: answer = .accepted
        case .rejected: answer = before.acceptedBy.map { $0 != actor.id } ?? false ? .taken : .refused
        case .committed, .deferred, .replayed, .unavailable, .failed: return
        }
        stores.counter.counts.occurrences.offers.append(.answered(driverID: actor.id, subject, answer, at: now))
    }
}

extension Assignment {
    /// The id of the driver who has accepted the job; nil if none has, or it was cancelled since.
    fileprivate var acceptedBy: String? {
        switch status {
        case .available, .assigned, .cancelled: nil
        default: driver?.id.text
        }
    }
}
