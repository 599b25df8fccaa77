import Access

/// Selects the events of an action that are pushed to devices, and determines what a tap on the push opens.
enum PushPolicy {
    case order(Order)
    case route(String)
    /// A notification that an admin sends. If it is for all drivers, it is pushed to all their devices even without
    /// ``NotificationRules/Rule/Push/broadcast``.
    case announcement
    /// What becomes of a driver's account.
    case account
    /// A batch of orders. That it waits for a driver is pushed to drivers even without
    /// ``NotificationRules/Rule/Push/broadcast``; that it no longer waits is not pushed.
    case batch

    private var entity: PushIntent.Entity? {
        switch self {
        case .order(let order): .job(order.bookingID ?? order.code)
        case .route(let id): .route(id)
        case .announcement, .account, .batch: nil
        }
    }

    /// The pushes of an action's events. Only one event for each recipient is pushed, so that a device gets one push per
    /// action: a moment of the trip, which has words for the customer, or else the first event.
    func pushes(of events: [(draft: EventDraft, notification: Notification)], _ rules: NotificationRules) -> [PushIntent] {
        var pushes: [PushIntent] = []
        var audiences: Set<PushIntent.Audience> = []
        let moments = events.filter { TripMoment(event: $0.draft.event) != nil }
        for (draft, notification) in moments + events {
            let push = rules[draft.event].push
            guard let audience = audience(of: draft, push, alreadyPushedTo: pushes.first?.audience),
                audiences.insert(audience).inserted
            else { continue }
            pushes.append(
                PushIntent(
                    notificationID: notification.id, audience: audience, entity: entity,
                    isFallback: push.contains(.fallback) && draft.channel.isOfOnePerson))
        }
        return pushes
    }

    /// The people to whose devices an event is pushed; nil if it is not pushed. Dispatchers get no pushes: they use a
    /// dashboard.
    /// - Parameter first: the audience of the action's first push; nil if there is none yet. If this is one driver, a
    ///   push to all drivers excludes that driver.
    private func audience(
        of draft: EventDraft, _ push: NotificationRules.Rule.Push, alreadyPushedTo first: PushIntent.Audience?
    ) -> PushIntent.Audience? {
        switch draft.channel {
        case .admin: return nil
        case .drivers:
            if case .announcement = self { return push.isEmpty ? nil : .everyDriver(except: nil) }
            let except: String? =
                if case .driver(let id) = first { Identity(role: .driver, id: id).key } else { nil }
            if case .batch = self {
                return push.contains(.personal) && draft.event == BatchNews.availableEvent ? .onlineDrivers(except: except) : nil
            }
            return push.contains(.broadcast) ? .everyDriver(except: except) : nil
        case .driver(let id): return push.contains(.personal) ? .driver(id) : nil
        case .customer(let id): return push.contains(.personal) ? .customer(id) : nil
        case .tracking(let reference), .booking(let reference):
            guard push.contains(.personal) else { return nil }
            if case .order(let order) = self, let customer = order.customerID { return .customer(customer) }
            return .booking(reference)
        }
    }
}
