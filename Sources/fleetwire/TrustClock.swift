import ArgumentParser
import Configuration
import Fleet
import FleetGateway
import Primitives

/// `fleetwire trust-clock`: confirms that this machine's clock is right, although it has jumped. It works whether or not
/// a gateway is running.
struct TrustClock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust-clock", abstract: "Confirm that the clock is right although it has jumped.",
        discussion: """
            After a jump forward of more than ten minutes (log event clock_jumped), the gateway deletes nothing by age. \
            Check the date first, then run this command on the gateway's machine.
            """)

    @OptionGroup var configuration: ConfigurationOption

    func run() throws {
        let settings = try configuration.load()
        let reading = ClockReading.current()
        do throws(StoreError) {
            try ClockConfirmation.store(reading, in: settings.store.address)
        } catch {
            StandardError.print("fleetwire: cannot \(error)")
            throw ExitCode.failure
        }
        print("Confirmed that it is \(Timestamp.iso8601(milliseconds: reading.wall))")
    }
}
