import Access

/// What a deed tells: its events, and which of them also reach phones.
struct Telling {
    let notifications: [Notification]
    let pushes: [PushIntent]
}

extension DispatchPlan {
    mutating func tell(_ telling: Telling) {
        notifications = telling.notifications
        pushes = telling.pushes
    }
}

/// Whose business a deed is: what its pushes open, and who the customer is.
enum PushPolicy {
    case order(Order)
    case route(String)
    /// What an admin words for all drivers is meant for all their phones.
    case announcement

    private var entity: PushIntent.Entity? {
        switch self {
        case .order(let order): .job(order.bookingID ?? order.code)
        case .route(let id): .route(id)
        case .announcement: nil
        }
    }

    /// Of one deed's events to somebody, the first is pushed: a phone buzzes once.
    func pushes(of events: [(draft: EventDraft, notification: Notification)], _ rules: NotificationRules) -> [PushIntent] {
        var pushes: [PushIntent] = []
        var reached: Set<PushIntent.Audience> = []
        for (draft, notification) in events {
            let push = rules[draft.event].push
            guard push != .never, let audience = audience(of: draft.channel, push, reached: pushes.first?.audience),
                reached.insert(audience).inserted
            else { continue }
            pushes.append(PushIntent(notificationID: notification.id, audience: audience, entity: entity))
        }
        return pushes
    }

    /// Nil where nobody's phone is meant: the dispatchers sit before their dashboard.
    private func audience(
        of place: FleetChannel, _ push: NotificationRules.Rule.Push, reached first: PushIntent.Audience?
    ) -> PushIntent.Audience? {
        switch place {
        case .driver(let id): return .driver(id)
        case .customer(let id): return .customer(id)
        case .admin: return nil
        case .tracking(let reference), .booking(let reference):
            if case .order(let order) = self, let customer = order.customerID { return .customer(customer) }
            return .booking(reference)
        case .drivers:
            if case .announcement = self { return .everyDriver(except: nil) }
            guard push == .broadcast else { return nil }
            guard case .driver(let id) = first else { return .everyDriver(except: nil) }
            return .everyDriver(except: Identity(role: .driver, id: id).key)
        }
    }
}
