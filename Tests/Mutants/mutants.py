"""The defects that `run.py` plants, one at a time, and the suite that must find each of them.

A defect is an ordinary mistake. Its text occurs once in its file. The suite is a filter of `swift test`, or, if it
begins with `test_`, what pytest runs against the program.

Who changes a text in the sources changes it here, too, or plants another defect of the same module instead:
`test_mutants_list.py` compares them. A defect that no suite finds is a hole in the tests, unless nobody could notice it.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    name: str
    file: str  # below Sources/
    defect: str
    text: str
    replacement: str
    suite: str

    @property
    def module(self) -> str:
        return self.file.split("/")[0]

    @property
    def is_end_to_end(self) -> bool:
        return self.suite.startswith("test_")


MUTANTS = [
    # Values
    Mutant("token-bucket", "Primitives/TokenBucket.swift", "a full bucket has one token too few",
           "limit.interval - now <= limit.capacity", "limit.interval - now < limit.capacity", "TokenBucketTests"),
    Mutant("address-close", "Addresses/AddressLimits.swift", "a closed connection still counts for its address",
           "        clients[address]?.connections -= 1\n", "", "AddressLimitsTests"),
    Mutant("network-prefix", "Addresses/IPNetwork.swift", "the prefix of an IPv4 network is counted from the wrong end",
           "prefixBits = isIPv6 ? bits : bits + 96", "prefixBits = bits", "IPNetworkTests"),
    Mutant("json-repeated", "JSON/CanonicalJSON.swift", "of members with one name, the first counts instead of the last",
           "order == 0 ? one.start < other.start", "order == 0 ? one.start > other.start", "CanonicalJSONTests"),
    Mutant("json-depth", "JSON/JSONReader.swift", "nesting is limited to one level less",
           "guard depth <= Self.depthMax", "guard depth < Self.depthMax", "JSONReaderTests"),
    Mutant("origin-any", "HTTP/AllowedOrigins.swift", "`*` lists every origin explicitly",
           "patterns.contains { $0 != .any && $0.matches(origin) }", "patterns.contains { $0.matches(origin) }",
           "AllowedOriginsTests"),
    Mutant("two-lengths", "HTTP1/RequestHeadParser+Framing.swift", "a chunked request may have a Content-Length, too",
           "guard head[.contentLength] == nil else {", "guard head[.contentLength] == nil || head.isHTTP11 else {",
           "RequestHeadParserTests"),
    Mutant("chunked-limit", "HTTP1/ChunkedDecoder.swift", "each chunk is limited, not the body",
           "guard size <= bodyBytesMax - bodyCount", "guard size <= bodyBytesMax", "ChunkedDecoderTests"),
    Mutant("message-limit", "WebSocketFraming/FrameDecoder.swift", "each fragment is limited, not the message",
           "guard header.length <= messageBytesMax - message.count", "guard header.length <= messageBytesMax",
           "FrameDecoderTests"),
    Mutant("close-codes", "WebSocketFraming/FrameDecoder.swift", "reserved close codes are accepted",
           "case 1000...1003, 1007...1014,", "case 1000...1014,", "FrameDecoderTests"),
    Mutant("unsigned-member", "PusherProtocol/SubscriptionGrant.swift", "the signature does not cover channel_data",
           "SigningText.subscription(socket, name, channelData: channelData)", "SigningText.subscription(socket, name)",
           "SubscriptionGrantTests"),
    Mutant("driver-channel", "Access/ChannelPolicy.swift", "a customer with a driver's id may listen to the driver's channel",
           "case .ownDriver: isDriver && wildcard", "case .ownDriver: wildcard", "ChannelPolicyTests"),

    # Fan-out and cluster
    Mutant("leaving-loses", "FanOut/LoopFanOut.swift", "a subscriber who leaves loses the events of this turn",
           "        if let pending = channels[channel].pending"
           " { add(pending, to: socket.slot, isUrgent: channels[channel].isSmall) }\n", "", "LoopFanOutTests"),
    Mutant("told-of-itself", "FanOut/Hub+Subscriptions.swift", "a new member is told that it was added",
           "fanOut(ServerMessage.memberAdded(name, member), on: slot, except: socket, &effects)",
           "fanOut(ServerMessage.memberAdded(name, member), on: slot, &effects)",
           "SimulationTests.SimulationTests"),
    Mutant("member-returns", "FanOut/Presence.swift", "a member on another node counts as leaving",
           "if known.isEmpty { leaving -= 1 }", "if known.local == 0 { leaving -= 1 }", "FanOutTests.PresenceTests"),
    Mutant("cache-expiry", "FanOut/EventCache.swift", "a cached event lives one millisecond too long",
           "entry.expiry > now else { return nil }", "entry.expiry >= now else { return nil }", "EventCacheTests"),
    Mutant("subscriptions-limit", "FanOut/Hub+Subscriptions.swift", "a connection may have one subscription too many",
           "subscriptions.count < limits.subscriptions else", "subscriptions.count <= limits.subscriptions else",
           "HubLimitsTests"),
    Mutant("commit-missing", "Cluster/CommitOrder.swift", "a commit that came too early does not show that one is missing",
           "        known = max(known, position)\n", "", "ClusterTests.CommitOrderTests"),
    Mutant("message-repeated", "Cluster/MessageNumbers.swift", "a message that comes twice counts twice",
           "message.number <= seen { return .repeated }", "message.number < seen { return .repeated }",
           "ReceivedNumbersTests"),

    # Rules
    Mutant("registered-anew", "Accounts/AccountDecisions.swift", "who registers anew keeps the reason of the rejection",
           "        account.reason = nil\n", "", "AccountDecisionsTests"),
    Mutant("two-batches", "Batches/Batch+Driver.swift", "a driver may have two batches",
           "            guard activeBatch == nil else { throw .activeBatch }\n", "", "BatchesTests"),
    Mutant("otp-window", "Batches/OTPAttempts.swift", "the oldest wrong codes are remembered instead of the newest",
           "wrongAt.sorted().suffix(Self.wrongMax)", "wrongAt.sorted().prefix(Self.wrongMax)", "OTPTests"),
    Mutant("code-tries", "OneTimeCodes/CodeSession.swift", "a new code does not give new tries",
           "        session.triesLeft = Self.triesMax\n", "", "CodeSessionTests"),
    Mutant("code-limits", "OneTimeCodes/CodeLimits.swift", "one code too many is sent to new phones",
           "limits.first(where: { $0.1 >= $0.2 })", "limits.first(where: { $0.1 > $0.2 })", "CodeLimitsTests"),
    Mutant("others-job", "FleetRules/Planning/DispatchPlanner+Jobs.swift", "a driver may report on another driver's job",
           "guard let driver = stored.assignment.driver, driver.id == Identifier(context.actor.id) else {",
           "guard stored.assignment.driver != nil else {", "JobProgressTests"),
    Mutant("moment-first", "FleetRules/Pushes/PushPolicy.swift", "the push of a trip's moment gives way to the general one",
           "in moments + events {", "in events + moments {", "PushIntentTests"),
    Mutant("reported-twice", "Delivery/Deliveries.swift", "what is not confirmed is reported again and again",
           "where mark.writtenAt <= moment && !mark.isReported {", "where mark.writtenAt <= moment {", "DeliveriesTests"),
    Mutant("live-in-replay", "Delivery/Deliveries.swift", "a notification that comes during a replay is lost",
           "                connections[slot]?.subscriptions[index].leftOut = sequence\n", "",
           "SimulationTests.DeliverySimulationTests"),
    Mutant("trip-step-twice", "Trips/LiveTrips+Positions.swift", "each position proposes a step that is already under way",
           "        guard !trip.pending.contains(where: step.isSameKind) else { return }\n", "", "LiveTripsTests"),
    Mutant("trip-passing-by", "Trips/ArrivalWatch.swift", "who passes the pickup at speed has arrived",
           "guard isSlow, metres <= rules.exitMetres else {", "guard metres <= rules.exitMetres else {", "ArrivalWatchTests"),
    Mutant("trip-still-there", "Trips/ArrivalWatch.swift", "after a correction, a driver arrives again without leaving",
           "metres > rules.exitMetres else { return nil }", "metres >= 0 else { return nil }", "ArrivalWatchTests"),

    # Adapters
    Mutant("console-framed", "Console/ConsolePage.swift", "other sites may frame the console",
           """"form-action 'none'", "frame-ancestors 'none'",""", """"form-action 'none'",""", "ConsolePageTests"),
    Mutant("console-expired", "CConsole/page/gateway.js", "an expired token does not end the session",
           "    if (response.status === 401 && !this.isEnded) this.#onEnd(this.#reasonOf(response, refusal));\n", "",
           "test_console.py::test_an_expired_token_ends_the_session"),
    Mutant("short-tag", "Crypto/AESCBCHMACKey.swift", "a cookie with a short or empty tag is genuine",
           "digest.prefix(Self.tagBytes)", "digest.prefix(tag.count)", "AESCBCHMACKeyTests"),
    Mutant("queue-capacity", "Threads/WorkQueue.swift", "a queue takes one item too many",
           "contents.count < capacity else", "contents.count <= capacity else", "WorkQueueTests"),
    Mutant("histogram-bound", "Observability/Histogram.swift", "a value on a bound counts in the next bucket",
           "bounds.firstIndex { value <= $0 }", "bounds.firstIndex { value < $0 }", "HistogramTests"),
    Mutant("omitted-again", "Observability/RateLimitedLog.swift", "omitted lines are reported again each second",
           "        omitted = 0\n", "", "RateLimitedLogTests"),
    Mutant("any-algorithm", "JWT/TokenVerifier.swift", "a token may be signed with any algorithm but none",
           "guard Self.isSame(token.algorithm, issuer.algorithm.rawValue) else {",
           """guard !Self.isSame(token.algorithm, "none") else {""", "KeyConfusionTests"),
    Mutant("removed-key", "JWT/VerifiedTokens.swift", "a verified token outlives its key",
           "entry.validity.contains(Double(now)), entry.keyGeneration == generation(entry.issuer) else",
           "entry.validity.contains(Double(now)) else", "VerifiedTokensTests"),
    Mutant("final-newline", "Configuration/VariableExpansion.swift", "a secret's file keeps its final newline",
           "return withoutFinalNewline(try readFile(path))", "return try readFile(path)", "VariableExpansionTests"),
    Mutant("short-secret", "Configuration/Settings+Safety.swift", "a secret of one byte less is accepted in production",
           "} else if count < Self.secretBytesMin {", "} else if count < Self.secretBytesMin - 1 {", "SafetyTests"),
    Mutant("written-withdrawn", "HTTPClient/HTTPPool.swift", "a request that is already written is withdrawn",
           "$0.isBusy && !$0.wasWritten && tags", "$0.isBusy && tags", "HTTPPoolFailureTests"),
    Mutant("bus-gone", "NATS/CommandQueue.swift", "publishes are accepted while the bus is gone",
           "            contents.isConnected = false\n", "", "OutageTests"),
    Mutant("sms-certain", "SMS/SMSRequest.swift", "an attempt without response is forgotten after a refused one",
           "isUncertain = isUncertain || end == .noResponse", "isUncertain = end == .noResponse", "SMSRequestTests"),
    Mutant("bench-order", "Bench/Bookkeeping.swift", "an event that comes late hides that the next one does, too",
           "receipts.latestSent = max(receipts.latestSent, sentAt[event])", "receipts.latestSent = sentAt[event]",
           "BookkeepingTests"),
    Mutant("top-restart", "Top/Figures.swift", "rates are negative after a restart",
           "let before = earlier.stats[path], now >= before,", "let before = earlier.stats[path],", "ScreenTests"),

    # Store
    Mutant("idempotency-digest", "Store/Writer/CommandExecutor+Idempotency.swift", "a key answers another request, too",
           "            guard stored.digest == key.digest else { return .rejected(Self.keyReuse(key.text)) }\n", "",
           "StoreTests.IdempotencyTests"),
    Mutant("cursor-back", "Store/Tables/CursorTable.swift", "a late receipt moves a cursor back",
           "WHERE cursors.sequence < excluded.sequence", "WHERE cursors.sequence <> excluded.sequence", "CursorTests"),
    Mutant("clock-jump", "Store/Clock/TrustedClock.swift", "after a second jump the time since the first counts",
           "            suspect = reading\n", "", "TrustedClockTests"),
    Mutant("old-replayed", "Store/Reader/ReplayReader.swift", "a replay has what is too old",
           "skipping: limit) ?? start", "skipping: limit) ?? after", "ReplayTests"),
    Mutant("subject-waits", "Store/Writer/RequestQueue.swift", "commands that were taken still count for their sender",
           "                changeWaiting(by: -1, for: next)\n", "", "RequestBacklogTests"),
    Mutant("superseded-push", "Store/Writer/PushOutbox+Reports.swift", "a superseded push is sent",
           """        guard !candidate.isSuperseded else { return .failure(.cancelled(reason: "superseded")) }\n""", "",
           "PushSupersedingTests"),
    Mutant("erased-places", "Store/Erasure/Redaction.swift", "an erasure keeps the coordinates of a customer's places",
           "hasEnded ? customerFields + coordinateFields :", "hasEnded ? customerFields :", "ErasureEndTests"),
    Mutant("read-mark", "Store/Tables/ReadMarkTable.swift", "a read mark does not cover its own entry",
           "WHERE recipient = ? AND entry >= ? LIMIT 1", "WHERE recipient = ? AND entry > ? LIMIT 1", "ReadMarkTests"),
    Mutant("missing-index", "Store/Database/Schema+OpenJobs.swift", "there is no index for idle orders",
           """        "CREATE INDEX orders_idle ON orders (updated_at, code)"""
           """ WHERE status NOT IN ('completed', 'cancelled')",\n""", "", "SQLTests"),
    Mutant("published-again", "Store/Tables/PublicationTable.swift", "after a crash the last publication is repeated",
           "SELECT id FROM notifications WHERE id > ?", "SELECT id FROM notifications WHERE id >= ?",
           "test_fleet_recovery.py"),
    Mutant("leased-pushes", "Store/Writer/PushOutbox+Takeover.swift", "pushes that were leased before a crash stay leased",
           "let count = try jobs.requeueSending(lane, most: most)", "let count = 0",
           "test_push_outbox.py::test_kill_before_the_response_repeats_with_the_same_ids"),

    # Push, webhooks
    Mutant("apns-410", "Push/APNs/APNsResponse.swift", "a token that was registered again since is removed",
           "min(error.timestamp ?? sentAt, now)", "now", "APNsResponseTests"),
    Mutant("breaker", "Push/Lane/RejectionBreaker.swift", "rejections of ten recipients do not open the breaker",
           "rejectedRecipients >= Self.recipientsMin", "rejectedRecipients > Self.recipientsMin", "RejectionBreakerTests"),
    Mutant("withdrawn-push", "Push/Lane/Lane.swift", "a push that is withdrawn is never returned",
           "            reports.add(PushOutcome(request.job, .returned, wasTried: false))\n", "", "LaneResultTests"),
    Mutant("quiet-hours", "Push/Message/PushDecision.swift", "urgent pushes respect quiet hours, too",
           "quietHours.isEnabled, !entry.urgent,", "quietHours.isEnabled,", "PushDecisionTests"),
    Mutant("truncation", "Push/Message/PushMessage+Truncation.swift", "a text is cut by half a byte too little",
           "$0.body = $0.body.cut(by: ($1 + 1) / 2,", "$0.body = $0.body.cut(by: $1 / 2,", "TruncationTests"),
    Mutant("one-device", "Push/APNs/APNsResponse.swift", "one device's limit pauses the lane",
           ".deviceThrottled(reason: reason, after:", ".retry(reason: reason, after:",
           "test_apns_responses.py::test_429_for_one_device_delays_only_that_device"),
    Mutant("debounce", "Webhooks/Debounce.swift", "an event is released when an earlier one of its channel is due",
           "guard serials[entry.subject] == entry.serial else { continue }",
           "guard serials[entry.subject] != nil else { continue }", "DebounceTests"),
    Mutant("unreachable-endpoint", "Webhooks/WebhookWorker.swift", "an unreachable endpoint counts as one that refuses",
           "case .failure(let error): .failed(error.description)", "case .failure(let error): .refused(error.description)",
           "WebhookWorkerTests"),
    Mutant("private-webhook", "Webhooks/WebhookWorker.swift", "webhooks may be sent to private addresses",
           "allowsPrivateAddresses: endpoint.allowsPrivate)", "allowsPrivateAddresses: true)",
           "test_webhook_delivery.py::test_private_addresses_are_rejected_unless_allowed"),

    # HTTP API
    Mutant("future-timestamp", "HTTPAPI/Pusher/RequestSignature.swift", "a signature may be of any time in the future",
           "guard abs(now - seconds) <= clockSkewSecondsMax", "guard now - seconds <= clockSkewSecondsMax",
           "RequestSignatureTests"),
    Mutant("older-signatures", "HTTPAPI/Pusher/SeenSignatures.swift", "a request can be repeated after a rotation",
           "!newer.signatures.contains(head.signature),\n            !older.signatures.contains(head.signature)\n",
           "!newer.signatures.contains(head.signature)\n", "SeenSignaturesTests"),
    Mutant("cookie-origin", "HTTPAPI/Fleet/Authenticator.swift", "with `*`, every site may use the cookies",
           "origins.lists(explicitly: origin)", "origins.allows(origin)", "AuthenticatorTests"),
    Mutant("figures-of-a-page", "HTTPAPI/Fleet/FleetRouter.swift", "a web page may read the figures on the loopback",
           "request.field(.cookie) == nil && request.origin == nil", "request.field(.cookie) == nil", "FleetOpsTests"),
    Mutant("moved-subject", "HTTPAPI/Fleet/SubjectLimits.swift", "a moved subject is not found at its new place",
           "            positions[last.key] = next\n", "", "SubjectLimitsTests"),

    # Server
    Mutant("outbox-end", "Server/Outbox.swift", "a chunk that is sent to its end is not removed",
           "offset >= chunks[head].count {", "offset > chunks[head].count {", "OutboxTests"),
    Mutant("agenda-share", "Server/Agenda.swift", "in a long turn some kinds of work get no time at all",
           "if hasTime || !hasProgress, let", "if hasTime, let", "AgendaTests"),
    Mutant("old-request", "Server/PendingResponses.swift", "a late response goes to the next request",
           "        entries[id.index].generation += 1\n", "", "PendingResponsesTests"),
    Mutant("body-deadline", "Server/EventLoop+HTTP.swift", "a body that never ends has no deadline",
           "case .body, .discarding: setDeadline(.body, slot, restarts: false)",
           "case .body, .discarding: deadlines.cancel(slot, &connections)", "test_http_deadlines.py"),
    Mutant("slow-consumer", "Server/EventLoop+Sending.swift", "clients that do not read are never dropped",
           "        if connections[slot].isFull { limitOutbox(slot) }\n", "",
           "test_limits.py::test_slow_consumer_is_closed_and_others_receive_everything"),
    Mutant("undeclared-proxy", "Server/EventLoop+Clients.swift", "a request with X-Real-IP counts as local",
           "head[.xForwardedProto] == nil && head[.xRealIP] == nil", "head[.xForwardedProto] == nil",
           "test_health_and_metrics.py::test_requests_of_an_undeclared_proxy_are_not_local"),

    # Composition
    Mutant("watchdog-abort", "Gateway/StallDetector.swift", "a short watchdog_seconds aborts before a stall is reported",
           "abortTicks == 0 ? 0 : max(abortTicks, Self.stallTicks)", "abortTicks", "StallDetectorTests"),
    Mutant("refused-command", "Gateway/CommandIntake.swift", "a stopping gateway waits for commands that were refused",
           "if result == .queued { state.openCount += 1 }", "state.openCount += 1", "CommandIntakeTests"),
    Mutant("prompt-answer", "Gateway/OfferTimes.swift", "an offer accepted after exactly five seconds counts as late",
           "milliseconds <= promptMilliseconds ?", "milliseconds < promptMilliseconds ?", "OfferTimesTests"),
    Mutant("ping-forgotten", "Gateway/Node+Ticks.swift", "a client that does not answer the ping is never closed",
           "            connections[slot]?.recordPing(now: Clock.monotonicNanoseconds())\n", "",
           "test_activity_timeout.py"),
    Mutant("draining-ready", "Gateway/Node+Requests.swift", "a stopping gateway says that it is ready",
           """            if !readiness.isReady { return .text(503, "draining", headers: ["Retry-After": "5"]) }\n""", "",
           "test_lifecycle.py::test_readyz_is_no_longer_200_when_the_first_client_is_closed"),
    Mutant("production-limits", "fleetwire/ConfigurationOption.swift", "--production lifts the limits of addresses",
           "if production { settings", "if !production { settings",
           "test_production.py::test_production_serves_and_limits_the_handshakes_of_an_address"),
    Mutant("bench-status", "fleetwire/BenchCommand.swift", "a load test that fails exits with 0",
           "        if !report.problems.isEmpty { throw ExitCode.failure }\n", "",
           "test_bench.py::test_lost_events_fail_the_run"),
]
