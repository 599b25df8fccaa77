import Access
import FleetRules
import JSON

/// Records what drivers do with the jobs and routes that they are offered, for the metrics.
extension CommandExecutor {
    /// Records that a driver's app has reported a view or an accept for the first time.
    func recordOffer(
        _ notification: NotificationTable.Head, _ step: OfferStep, by driver: Identity, _ now: Int64
    ) throws(DatabaseError) {
        guard Offer.isOffer(event: notification.event), notification.channel.isSame(as: driver.channel),
            let data = try notifications.notification(id: notification.id)?.notification.data,
            let subject = Offer.Subject(data: data)
        else { return }
        let offer = Offer(
            notificationID: notification.id, driverID: driver.id, subject: subject, createdAt: notification.createdAt,
            pushedAt: try outbox.jobs.firstAcceptedAt(of: notification.id, for: driver.key))
        counter.counts.offers.append(.reported(offer, step, at: now))
    }

    /// Records how a driver's accept was answered. A repeated one is none.
    /// - Parameters:
    ///   - subject: nil if there is no such job.
    ///   - holder: the job's driver before.
    func recordAnswer(
        _ reply: CommandReply, to command: Command, _ subject: Offer.Subject?, holder: String?, _ now: Int64
    ) {
        guard let subject else { return }
        let answer: OfferAnswer
        switch reply {
        case .committed(let result) where result.audit != nil: answer = .accepted
        case .rejected(let error) where error.kind == .conflict && holder != nil && holder != command.actor.id: answer = .taken
        case .rejected: answer = .refused
        case .committed, .replayed, .unavailable, .failed: return
        }
        counter.counts.offers.append(.answered(driverID: command.actor.id, subject, answer, at: now))
    }
}

extension Offer.Subject {
    private enum Member: String, CaseIterable {
        case bookingId, routeId
    }

    /// Nil if the data of an event names neither a booking nor a route.
    fileprivate init?(data: [UInt8]) {
        guard let members = try? JSONMembers<Member>(of: data) else { return nil }
        if case .text(let id) = members[.bookingId] {
            self = .job(id)
        } else if case .text(let id) = members[.routeId] {
            self = .route(id)
        } else {
            return nil
        }
    }

    /// The job of an order, as events name it.
    init(_ order: Order) { self = .job(order.bookingID ?? order.code) }
}
