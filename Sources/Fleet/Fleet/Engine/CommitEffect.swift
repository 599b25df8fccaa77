import Access

/// What follows from a command's commit besides its events. `FleetGateway/CommitPublisher` carries it out, and ``CommitRecord``
/// tells the other nodes of a cluster, as far as it concerns them.
package enum CommitEffect: Equatable, Sendable {
    /// The order's new state.
    case orderChanged(Order)
    /// A driver's card: the one that the command changed, or that of the driver who reported progress.
    case cardShown(DriverCard)
    /// The position in a driver's progress report.
    case positionReported(DriverPosition)
    case accountChanged(AccountChange)
    /// Tokens to refuse from now on.
    case tokensEnded(EndedTokens)
    /// The person whose data the command has erased.
    case personErased(Identity)
    /// The former owner has lost the device: the command removed it, or another user registered it.
    case deviceRemoved(RemovedDevice)
    /// Push lanes have new jobs.
    case lanesWoken(Set<PushLane>)
    /// An SMS to send.
    case codeToSend(SignInCodeMessage)
}

extension [CommitEffect] {
    /// The driver's card among the effects.
    package var card: DriverCard? {
        for case .cardShown(let card) in self { return card }
        return nil
    }

    /// Replaces the driver's card, which is told after an order, or adds it.
    mutating func show(_ card: DriverCard?) {
        removeAll { if case .cardShown = $0 { true } else { false } }
        if let card { append(.cardShown(card)) }
    }
}
