import Access
import Cluster
import FanOut
import Fleet
import JSON
import Observability
import Primitives
import PusherProtocol
import Realtime
import Server
import Threads

/// Publishes what the store has committed: events to channels, job assignments to the hub, replies to the event loops,
/// push jobs to the lanes. Runs on the store's threads, after the commit and in commit order. `+Restoring` restores at the
/// start what an earlier process knew, `+Log` counts and logs what commands have come to.
final class CommitPublisher: Sendable {
    let hub: SharedHub
    private let publications: Publications
    let app: AppIndex
    let policy: ChannelPolicy
    let trips: SharedTrips
    private let accounts: AccountDirectory
    private let codes: SignInCodeDispatch
    private let codeMetrics: SignInCodeMetrics
    let endedSessions: EndedSessions
    private let pushService: PushService
    let counters: FleetCounters
    private let intake: CommandIntake
    private let deferred = DeferredReplies()
    /// The order of all nodes' commits, if there is a cluster.
    let order: Lock<ClusterCommitOrder>
    private let onDroppedUpdates: @Sendable (Int) -> Void
    let log: Log
    let refusedTransitions: RateLimitedLog

    /// - Parameter onDroppedUpdates: gets the number of events `delivery-updated` that were not published, because a
    ///   mailbox was full.
    init(
        hub: SharedHub, publications: Publications, app: AppIndex, policy: ChannelPolicy, trips: SharedTrips,
        accounts: AccountDirectory,
        codes: SignInCodeDispatch, codeMetrics: SignInCodeMetrics, endedSessions: EndedSessions, pushService: PushService,
        counters: FleetCounters, intake: CommandIntake, order: Lock<ClusterCommitOrder>, log: Log,
        refusedTransitions: RateLimitedLog,
        onDroppedUpdates: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.hub = hub
        self.publications = publications
        self.app = app
        self.policy = policy
        self.trips = trips
        self.accounts = accounts
        self.codes = codes
        self.codeMetrics = codeMetrics
        self.endedSessions = endedSessions
        self.pushService = pushService
        self.counters = counters
        self.intake = intake
        self.order = order
        self.onDroppedUpdates = onDroppedUpdates
        self.log = log
        self.refusedTransitions = refusedTransitions
    }

    /// Publishes a commit. In a cluster, what other nodes have committed before it comes first.
    func publish(_ commit: Commit) {
        guard !commit.log.isEmpty else { return publishOwn(commit) }
        order.withLock { order in
            let now = Clock.monotonicMilliseconds()
            var isOwnPublished = false
            for item in commit.log {
                switch item {
                case .foreign(let entry):
                    for record in order.receive(entry.record, position: entry.position, at: now) { apply(record) }
                case .own(let entry):
                    // First on the bus: the other nodes' clients wait, too.
                    hub.announce(entry.record, position: entry.position)
                    publishOwn(commit)
                    isOwnPublished = true
                    for record in order.apply(own: entry.position, at: now) { apply(record) }
                }
            }
            if !isOwnPublished { publishOwn(commit) }
        }
    }

    /// Publishes what another node has committed, as soon as everything before it is published.
    /// - Parameter record: empty if it is too large for the bus.
    func receive(_ record: [UInt8], position: Int64) {
        order.withLock { order in
            let now = Clock.monotonicMilliseconds()
            for record in order.receive(record, position: position, at: now) { apply(record) }
        }
    }

    private func apply(_ record: [UInt8]) {
        let content: CommitRecord
        do throws(DatabaseError) {
            content = try CommitRecord(record)
        } catch {
            return log.error("cluster_record_unreadable", ["reason": .text("\(error)")])
        }
        for result in content.results {
            publish(result, isOwn: false)
            if let last = result.notifications.last { publications.add(upTo: last.id) }
        }
        publish(content.updates, isOwn: false)
        pushService.wake(content.lanes)
    }

    /// Publishes a commit of this gateway. The comments below give the reasons for the order.
    private func publishOwn(_ commit: Commit) {
        // Leases before replies. A reply may report that a device has a new owner; the lane then drops the old owner's
        // jobs for this device. If the lease came later, the lane would still push the old owner's jobs in it.
        for lease in commit.leases { pushService.supply(lease) }
        for report in commit.rejectedReports { pushService.returnRejected(report) }
        for reply in commit.subscriptions { post(reply.cursor, for: reply.request) }
        for request in commit.rejectedSubscriptions { post(nil, for: request) }
        for address in commit.looked { hub.post(.looked(RequestID(rawValue: address.request)), to: address.loop) }
        counters.count(commit.counts)
        if hub.isClustered { for note in commit.counts.occurrences.offers.compactMap(AnswerNote.init) { hub.tell(note.note) } }
        codeMetrics.count(commit.codes)
        codes.report(commit.codes)
        var lanes = commit.wake
        var answered = 0
        for (request, reply) in commit.replies {
            if case .committed(let result) = reply {
                publish(result, isOwn: true)
                for case .lanesWoken(let woken) in result.effects { lanes.formUnion(woken) }
            }
            // Before the reply: who has the response finds the action in the log and in the metrics.
            record(reply, to: request.issued)
            // The reply after the command's events: each loop handles its messages in order, so it sends the events
            // before the response.
            answered += answer(request, reply)
            if let step = request.issued.command as? TripStep { trips.answered(step, reply) }
        }
        if let last = commit.lastNotificationID { publications.add(upTo: last) }
        counters.count(commit.confirmations)
        publish(commit.updates.map(\.data), isOwn: true)
        intake.replied(answered)
        pushService.wake(lanes)
        // After the replies: this writes one log line per failed push, which must not delay replies.
        pushService.record(commit.finished)
        for device in commit.removed { pushService.record(removed: device) }
    }

    /// Sends a reply to the loop that waits for it, and to those whose replies were deferred until then.
    /// - Returns: the number of accepted commands that have their reply now.
    private func answer(_ request: CommandRequest, _ reply: CommandReply) -> Int {
        if case .deferred(let result) = reply { return deferReply(to: request, result) }
        guard let token = request.issued.command.resolvedToken else {
            if let address = request.replyTo { post(reply, to: address) }
            return 1
        }
        if let sms = (request.issued.command as? RecordSignInSMS)?.sms { codes.recorded(sms, reply) }
        let waiting = deferred.resolve(token)
        for request in waiting { post(request.hasJoined ? reply.forRepetition : reply, to: request.address) }
        return waiting.count
    }

    /// Lets a request wait for the reply to another command.
    private func deferReply(to request: CommandRequest, _ result: DeferredResult) -> Int {
        if let otherwise = result.otherwise {
            if deferred.join(result.token, request.replyTo) { return 0 }
            if let address = request.replyTo { post(.committed(otherwise), to: address) }
            return 1
        }
        deferred.begin(result.token, request.replyTo)
        // After that: the token may be resolved at once.
        for case .codeToSend(let message) in result.effects { codes.send(message) }
        return 0
    }

    private func post(_ reply: CommandReply, to address: ReplyAddress) {
        hub.post(.commandReply(reply, to: RequestID(rawValue: address.request)), to: address.loop)
    }

    private func post(_ cursor: Int64?, for request: CursorRequest) {
        hub.post(.cursor(request: request.replyTo.request, cursor), to: request.replyTo.loop)
    }

    /// Sends pages of replays to the loops that wait for them.
    func publish(_ pages: [(request: ReplayRequest, page: ReplayPage?)]) {
        for (request, page) in pages {
            hub.post(.page(request: request.replyTo.request, page), to: request.replyTo.loop)
        }
    }

    /// Sends the replies to queries to the loops that wait for them.
    func publish(_ replies: [(request: QueryRequest, reply: QueryReply)]) {
        for (request, reply) in replies {
            hub.post(.queryReply(reply, to: RequestID(rawValue: request.replyTo.request)), to: request.replyTo.loop)
        }
    }

    /// Puts the new state of an account into force.
    func record(_ change: AccountChange) {
        accounts.record(change)
        if let former = change.formerDriverID { hub.apply(.restrict(driverID: former, nil, app: app)) }
        hub.apply(.restrict(driverID: change.driverID, change.restriction, app: app))
    }

    /// - Parameter isOwn: whether this gateway has committed it, and counts it.
    private func publish(_ result: CommandResult, isOwn: Bool) {
        // Before the events: a driver may subscribe as soon as the approval has arrived.
        for effect in result.effects {
            switch effect {
            case .accountChanged(let change): record(change)
            case .tokensEnded(let ended): endedSessions.record(ended)
            case .orderChanged, .cardShown, .positionReported, .personErased: break  // with the events
            case .deviceRemoved, .lanesWoken, .codeToSend: break  // after the events
            }
        }
        let monotonicMinusWall = Clock.monotonicMilliseconds() - Clock.unixMilliseconds()
        let named = zip(result.notifications, result.sequences).compactMap { notification, sequence in
            hubNotification(notification, sequence, expiresAt: notification.publishUntil + monotonicMinusWall)
                .map { (notification.event, $0) }
        }
        trips.committing(result.effects, isOwn: isOwn) { order in
            let assignment = order.map(FleetAccess.JobAssignment.init)
            let areHeard = hub.publish(named.map(\.1), assignment: assignment, app: app)
            guard isOwn else { return }
            for ((event, _), isHeard) in zip(named, areHeard) { counters.countEvent(event, isHeard: isHeard) }
        }
        if isOwn { counters.trips.count(result) }
        for case .deviceRemoved(let device) in result.effects {
            if isOwn { pushService.record(removed: device) } else { pushService.withdraw(device.id) }
        }
    }

    /// A notification with the publications of its event: on its channel (`driver-42`) and, if that channel has a mirror
    /// (`private-driver-42`), on the mirror too. Nil if the name of its channel is invalid.
    /// - Parameter expiresAt: monotonic milliseconds.
    func hubNotification(_ notification: Notification, _ sequence: Int64, expiresAt: Int64) -> FleetAccess.Notification? {
        // 256 is more than the longest name of a fleet channel. `limits.name_length` is not used, because it may have
        // been lowered since the name was checked and stored.
        guard let channel = ChannelName(notification.channel, lengthMax: 256) else { return nil }
        let frame = ServerMessage.event(notification.event, channel, data: notification.data)
        let publication = Hub.Publication(channel: channel, frame: frame)
        let mirrored = policy.mirror(of: channel).map { Hub.Publication(publication, mirroredOn: $0) }
        let publications = [publication] + (mirrored.map { [$0] } ?? [])
        return FleetAccess.Notification(
            id: notification.id, publications: publications, sequence: policy.owner(of: channel) == nil ? nil : sequence,
            expiresAt: expiresAt)
    }

    /// Tells the subscribers of `admin-channel` and of its mirror how far notifications have come.
    /// - Parameter updates: the events' data. Each node publishes them to its own subscribers.
    private func publish(_ updates: [[UInt8]], isOwn: Bool) {
        guard !updates.isEmpty, let channel = ChannelName(FleetChannel.admin.name, lengthMax: 256) else { return }
        let names = [channel] + (policy.mirror(of: channel).map { [$0] } ?? [])
        let results = names.map { name in
            hub.publish(on: name, app: app, scope: .node) {
                updates.map { ServerMessage.event(NotificationUpdate.event, name, data: $0) }
            }
        }
        for result in results where result == .rejected { onDroppedUpdates(updates.count) }
        guard isOwn, !results.contains(.rejected) else { return }
        for _ in updates { counters.countEvent(NotificationUpdate.event, isHeard: results.contains(.published)) }
    }
}

extension CommandReply {
    /// The reply to a request that repeats the one before it.
    fileprivate var forRepetition: CommandReply {
        guard case .committed(let result) = self else { return self }
        return .committed(result.forRepetition)
    }
}

extension AccountChange {
    /// What the driver may subscribe to; nil: as the channel rules say.
    fileprivate var restriction: FleetAccess.Restriction? {
        switch entry?.status {
        case .active?: nil
        case .pending?, .rejected?: .ownChannel
        case .suspended?, nil: .nothing
        }
    }
}

extension FleetAccess.JobAssignment {
    init(_ order: Order) {
        let assignment = order.assignment
        self.init(
            orderCode: order.code, reference: order.reference,
            driverID: assignment.status.isFinal ? nil : assignment.driver?.id.text)
    }
}
