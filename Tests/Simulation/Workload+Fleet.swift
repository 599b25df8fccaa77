import Access
import FanOut
import PusherProtocol
import TestSupport

/// Steps of a fleet: users are identified and subscribe to their channels, and jobs change drivers.
extension Workload {
    mutating func fleetStep(of kind: Scenario.Kind, in world: World, using dice: inout SplitMix) -> Step? {
        switch kind {
        case .identify:
            // Often a connection that already has identities, so that some connections exceed the limit of four.
            let identified = dice.chance(percent: 50) ? dice.pick(world.model.identified)?.socket : nil
            return (identified ?? dice.pick(world.open)).map {
                .input(.identify($0, SimulatedFleet.identity(using: &dice)), on: $0.loop)
            }
        case .identifyDriver: return identifyDriver(in: world, using: &dice)
        case .assign:
            let app = app(using: &dice)
            if dice.chance(percent: 15) {
                let restriction = dice.pick([nil, nil, .ownChannel, Hub.Restriction.nothing]) ?? nil
                let driverID = dice.pick(SimulatedFleet.driverIDs) ?? ""
                return .input(.restrict(driverID: driverID, restriction, app: app), on: loop(using: &dice))
            }
            let assignment = SimulatedFleet.assignment(of: world.model.jobs.filter { $0.app == app }, using: &dice)
            return .input(.assignment(assignment, app: app), on: loop(using: &dice))
        case .endJob:
            return dice.pick(SimulatedFleet.codes).map { code in
                let assignment = Hub.JobAssignment(
                    orderCode: code, reference: dice.pick(SimulatedFleet.references) ?? "", driverID: nil)
                return .input(.assignment(assignment, app: app(using: &dice)), on: loop(using: &dice))
            }
        case .publishToMirrors: return publishToMirrors(in: world, using: &dice)
        default: return nil
        }
    }

    /// Identifies a driver who has a job or, if the driver is identified, subscribes to a channel of the job.
    private func identifyDriver(in world: World, using dice: inout SplitMix) -> Step? {
        guard let job = dice.pick(world.model.jobs) else { return nil }
        let key = "driver:\(job.driverID)"
        let open = world.open.filter { world.model.connections[$0]?.app == job.app }
        let identified = open.filter { world.model.identities(of: $0).contains { $0.key == key } }
        guard dice.chance(percent: 75), let socket = dice.pick(identified) else {
            return dice.pick(open).flatMap { identify(job.driverID, at: $0, using: &dice) }
        }
        let own = scenario.channels.filter {
            world.model.isJobChannel(.init(app: job.app, channel: $0), reference: job.reference)
        }
        return dice.pick(own).flatMap { subscribe(socket, $0, in: world, using: &dice) }
    }

    /// Identifies the driver on a connection, or signs the driver in.
    private func identify(_ driverID: String, at socket: SocketID, using dice: inout SplitMix) -> Step? {
        if dice.chance(percent: 70) {
            return .input(.identify(socket, Identity(role: .driver, id: driverID)), on: socket.loop)
        }
        return scenario.users.user("driver:\(driverID)", on: socket, using: &dice).map {
            .input(.signin(socket, $0), on: socket.loop)
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
