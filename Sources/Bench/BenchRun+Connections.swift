import Threads

/// The subscribers' connections, and what arrives on them and in response to requests.
extension BenchRun {
    /// Connections that shake hands or subscribe at the same time. More would only wait in the gateway's accept queue.
    private static let underWayMax = 256
    private static let connectTimeout: UInt64 = 15_000_000_000

    func channel(of subscriber: Subscriber) -> Int { subscriber.tag % plan.channelCount }

    /// Begins the connections that are due, and gives up those that take too long.
    func startConnects(at now: UInt64) {
        let due = connecting.dueCount(at: now)
        while subscribers.count < due, underWayCount < Self.underWayMax {
            let tag = subscribers.count
            let link = Result { () throws(Link.Failure) in
                try Link(to: address, context: context, poller: poller, tag: tag)
            }
            report.connects.sent += 1
            underWayCount += 1
            let subscriber = Subscriber(address, path: path, link: try? link.get(), tag: tag, at: now)
            subscribers.append(subscriber)
            oldest.append(subscriber)
            if case .failure(let failure) = link { fail(subscriber, failure.reason, at: now) }
        }
        while let subscriber = oldest.first {
            if subscriber.isUnderWay {
                guard now > subscriber.startedAt + Self.connectTimeout else { break }
                subscriber.drop()
                fail(subscriber, "timed out", at: now)
            }
            _ = oldest.popFirst()
        }
    }

    func advanceSubscriber(_ event: Poller.Event) {
        let subscriber = subscribers[event.tag]
        let now = Clock.monotonicNanoseconds()
        report.receivedBytes += subscriber.advance(event, buffer, poller) { event in
            switch event {
            case .greeted(let socketID): authorize(subscriber, socketID, at: now)
            case .subscribed:
                underWayCount -= 1
                lastProgress = now
                report.connects.done += 1
                report.connects.latency.record(now - subscriber.startedAt)
                subscriberCounts[channel(of: subscriber)] += 1
            case .event(let name, let data):
                if let number = scenario.number(ofEvent: name, data: data) { receive(number, subscriber) }
            case .ended(let reason): fail(subscriber, reason, at: now)
            }
        }
    }

    private func authorize(_ subscriber: Subscriber, _ socketID: String, at now: UInt64) {
        let channel = channel(of: subscriber)
        switch scenario.authorization(ofSubscriber: channel, socketID: socketID) {
        case .signature(let auth): subscriber.subscribe(to: scenario.channelName(channel), auth: auth)
        case .request(let bytes): requests.append(Request(purpose: .authorize(subscriber.tag), bytes: bytes, due: now))
        }
    }

    private func fail(_ subscriber: Subscriber, _ reason: String, at now: UInt64) {
        if subscriber.hasSubscribed {
            if phase != .done { report.closed[reason, default: 0] += 1 }
        } else {
            underWayCount -= 1
            lastProgress = now
            report.connects.failures[reason, default: 0] += 1
        }
    }

    private func receive(_ event: Int, _ subscriber: Subscriber) {
        let now = Clock.monotonicNanoseconds()
        lastProgress = now
        switch publications.receive(event, on: channel(of: subscriber), &subscriber.receipts) {
        case .duplicate: report.deliveries.duplicated += 1
        case .misrouted: report.deliveries.misrouted += 1
        case let outcome:
            if outcome == .outOfOrder { report.deliveries.outOfOrder += 1 }
            report.deliveries.received += 1
            let due = publishing.time(of: event)
            report.deliveries.latency.record(now > due ? now - due : 0)
            if let accept = scenario.accept(event) {
                report.accepts.sent += 1
                requests.append(Request(purpose: .accept(event), bytes: accept, due: now))
            }
        }
    }

    /// Takes what became of a request.
    func settle(_ request: Request, _ result: RequestResult) {
        let now = Clock.monotonicNanoseconds()
        if case .figures = request.purpose {} else { lastProgress = now }
        switch request.purpose {
        case .publish(let event):
            publications.answer(event, isAccepted: result.isSuccess, at: now)
            if result.isSuccess, plan.scenario == .fleet { report.ordersLeft += 1 }
            report.publishes.count(result, latency: now - request.due)
            if result.isSuccess { report.deliveries.expected += subscriberCounts[publications.channel(of: event)] }
        case .accept: report.accepts.count(result, latency: now - request.due)
        case .authorize(let tag): subscribe(subscribers[tag], result, at: now)
        case .figures:
            guard case .response(let response) = result, response.status == 200,
                let confirmed = FleetScenario.confirmedCount(in: response.body)
            else { return }
            if let before = confirmedBefore { report.confirmed = confirmed - before } else { confirmedBefore = confirmed }
        case .end(let event):
            if result.isSuccess, publications.isAccepted(event) { report.ordersLeft -= 1 }
            // Without a connection, the others would fail, too.
            if case .failure = result { stopEnding() }
        }
    }

    private func subscribe(_ subscriber: Subscriber, _ result: RequestResult, at now: UInt64) {
        guard subscriber.isUnderWay else { return }
        if case .response(let response) = result, let auth = Subscriber.text("auth", in: response.body) {
            subscriber.subscribe(to: scenario.channelName(channel(of: subscriber)), auth: auth)
        } else {
            subscriber.drop()
            fail(subscriber, "authorization: \(result.failure ?? "no signature")", at: now)
        }
    }
}

extension RequestResult {
    var isSuccess: Bool { failure == nil }

    /// Why the request has failed; nil if it has not.
    var failure: String? {
        switch self {
        case .response(let response): response.status == 200 ? nil : "status \(response.status)"
        case .failure(let reason): reason
        }
    }
}

extension BenchReport.Requests {
    fileprivate mutating func count(_ result: RequestResult, latency nanoseconds: UInt64) {
        if let failure = result.failure {
            failures[failure, default: 0] += 1
        } else {
            done += 1
            latency.record(nanoseconds)
        }
    }
}
