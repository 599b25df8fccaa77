import CLibev

/// New connections: loop 0 accepts them, and each loop adopts those that it gets.
extension EventLoop {
    /// Starts accepting connections. The delegate distributes them over the loops.
    package func listen(on listener: Listener) {
        self.listener = listener
        let this = Unmanaged.passUnretained(self).toOpaque()
        clibev_io_init(acceptWatcher, Self.acceptCallback, listener.descriptor, Int32(EV_READ), this)
        ev_io_start(wakeup.loop, acceptWatcher)
    }

    /// Stops accepting and frees the port.
    package func stopListening() {
        guard let listener else { return }
        ev_io_stop(wakeup.loop, acceptWatcher)
        ev_timer_stop(wakeup.loop, acceptRetryTimer)
        listener.stop()
        self.listener = nil
    }

    func acceptReady() {
        guard !awaitsAccept else { return }
        if agenda.permits(.change, at: clock()) { return accept() }
        // New connections wait in the kernel while the loop has not done with the ones before.
        awaitsAccept = true
        agenda.add(.accept, .change)
    }

    func accept() {
        awaitsAccept = false
        guard let listener, !isStopping else { return }
        // At most 64 at once, so that a burst of new connections does not delay open ones.
        for _ in 0..<64 {
            guard !budget.isExhausted else { return pauseAccepting() }
            switch listener.accept() {
            case .wouldBlock: return
            case .exhausted: return pauseAccepting()
            case .accepted(var connection):
                // The connections of proxies are counted once their client is known.
                connection.isCounted = !options.proxies.contains(connection.address)
                guard !connection.isCounted || admit(connection.address) else {
                    connection.drop()
                    continue
                }
                budget.reserve()
                delegate.accepted(connection)
            }
        }
    }

    /// Stops accepting until ``retryAccepting()`` finds free descriptors.
    private func pauseAccepting() {
        ev_io_stop(wakeup.loop, acceptWatcher)
        ev_timer_again(wakeup.loop, acceptRetryTimer)
        metrics.add(to: .acceptPauses)
    }

    /// Resumes accepting if the budget allows it. A timer calls this. The alternative, that each loop notifies the
    /// accepting loop when it closes a connection, would be more complex and no better.
    func retryAccepting() {
        guard !budget.isExhausted else { return }
        ev_timer_stop(wakeup.loop, acceptRetryTimer)
        ev_io_start(wakeup.loop, acceptWatcher)
    }

    /// Serves an accepted connection on this loop, when its turn comes.
    package func adoptLater(_ connection: Listener.AcceptedSocket) { agenda.add(.adopt(connection), .change) }

    /// Serves an accepted connection on this loop.
    package func adopt(_ connection: Listener.AcceptedSocket) {
        guard !isStopping else {
            connection.drop()
            return release(connection.address, connection.isCounted)
        }
        let slot = connections.reserveSlot()
        guard let handle = transport.adopt(connection.descriptor, slot: slot) else {
            connections.cancelReservation(of: slot)
            return release(connection.address, connection.isCounted)
        }
        _ = connections.add(handle, connection, slot: slot, loop: index)
        if options.usesProxyProtocol { connections[slot].phase = .proxyHeader }
        deadlines.set(options.certificates == nil ? .head : .handshake, slot, &connections)
    }
}
