import Access
import FanOut
import PusherProtocol
import TestSupport

/// Steps of a fleet: users are authorized for their channels and subscribe to them, and jobs change drivers.
extension Workload {
    mutating func fleetStep(of kind: Scenario.Kind, in world: World, using dice: inout SplitMix) -> Step? {
        switch kind {
        case .authorize:
            // Often a connection that already has identities, so that some connections exceed the limit of four.
            let identified = dice.chance(percent: 50) ? dice.pick(world.model.identified)?.socket : nil
            return (identified ?? dice.pick(world.open)).map {
                authorize(SimulatedFleet.identity(using: &dice), at: $0, using: &dice)
            }
        case .subscribeAuthorized:
            guard let authorized = dice.pick(world.model.authorizations), let channel = authorized.channel else { return nil }
            return subscribe(authorized.socket, channel, in: world, using: &dice)
        case .authorizeDriver: return authorizeDriver(in: world, using: &dice)
        case .assign:
            let app = app(using: &dice)
            if dice.chance(percent: 15) {
                let restriction = dice.pick([nil, nil, .ownChannel, FleetAccess.Restriction.nothing]) ?? nil
                let driverID = dice.pick(SimulatedFleet.driverIDs) ?? ""
                return .input(.fleet(.restrict(driverID: driverID, restriction, app: app)), on: loop(using: &dice))
            }
            let assignment = SimulatedFleet.assignment(of: world.model.jobs.filter { $0.app == app }, using: &dice)
            return .input(.fleet(.assignment(assignment, app: app)), on: loop(using: &dice))
        case .endJob:
            return dice.pick(SimulatedFleet.codes).map { code in
                let assignment = FleetAccess.JobAssignment(
                    orderCode: code, reference: dice.pick(SimulatedFleet.references) ?? "", driverID: nil)
                return .input(.fleet(.assignment(assignment, app: app(using: &dice))), on: loop(using: &dice))
            }
        case .publishToMirrors: return publishToMirrors(in: world, using: &dice)
        default: return nil
        }
    }

    /// The authorization endpoint signs for an identity: a sign-in, or a subscription to the identity's own channel or any
    /// other.
    func authorize(_ identity: Identity, at socket: SocketID, using dice: inout SplitMix) -> Step {
        let own = scenario.channels.filter { $0.text.hasSuffix(identity.channel) }
        let signed = dice.chance(percent: 50) ? dice.pick(own) : nil
        let channel = dice.chance(percent: 20) ? nil : signed ?? dice.pick(scenario.channels)
        return authorize(identity, at: socket, for: channel, using: &dice)
    }

    private func authorize(
        _ identity: Identity, at socket: SocketID, for channel: ChannelName?, using dice: inout SplitMix
    ) -> Step {
        let device = dice.pick(SimulatedFleet.devices) ?? ""
        return .input(.fleet(.authorized(socket, identity, device: device, channel: channel)), on: socket.loop)
    }

    /// Authorizes a driver who has a job or, if the driver is identified, subscribes to a channel of the job.
    private func authorizeDriver(in world: World, using dice: inout SplitMix) -> Step? {
        guard let job = dice.pick(world.model.jobs) else { return nil }
        let key = "driver:\(job.driverID)"
        let open = world.open.filter { world.model.connections[$0]?.app == job.app }
        let identified = open.filter { world.model.identities(of: $0).contains { $0.key == key } }
        let own = scenario.channels.filter {
            world.model.isJobChannel(.init(app: job.app, channel: $0), reference: job.reference)
        }
        guard dice.chance(percent: 75), let socket = dice.pick(identified) else {
            let channel = dice.pick(own) ?? scenario.channels[0]
            return dice.pick(open).flatMap { authorizeDriver(job.driverID, for: channel, at: $0, using: &dice) }
        }
        return dice.pick(own).flatMap { subscribe(socket, $0, in: world, using: &dice) }
    }

    /// Authorizes the driver on a connection, or signs the driver in.
    private func authorizeDriver(
        _ driverID: String, for channel: ChannelName, at socket: SocketID, using dice: inout SplitMix
    ) -> Step? {
        if dice.chance(percent: 70) {
            return authorize(Identity(role: .driver, id: driverID), at: socket, for: channel, using: &dice)
        }
        return scenario.users.user("driver:\(driverID)", on: socket, using: &dice).map {
            .input(.hub(.signin(socket, $0)), on: socket.loop)
        }
    }

    /// Publishes to a channel and its mirror, as the API does.
    private mutating func publishToMirrors(in world: World, using dice: inout SplitMix) -> Step? {
        let app = app(using: &dice)
        guard let channel = dice.pick(scenario.channels),
            let mirrorChannel = world.model.mirror(of: .init(app: app, channel: channel))
        else { return nil }
        let sender = dice.chance(percent: 30) ? dice.pick(world.open) : nil
        return publish(to: [channel, mirrorChannel], app: app, except: sender, on: loop(using: &dice))
    }
}
