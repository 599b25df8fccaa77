import Fleet
import Observability

extension Log {
    /// Writes an event of the store.
    func report(_ event: StoreEvent) {
        switch event {
        case .unavailable(let error): self.error("store_unavailable", ["reason": .text("\(error)")])
        case .stopped(.lost(let loss)):
            self.error(
                "store_lost",
                [
                    "reason": .text("\(loss)"),
                    "hint": "commands get 503 until a restart: stop the gateway, put the file back or restore a backup, start it",
                ])
        case .stopped(.damaged(let error)):
            self.error(
                "store_damaged",
                [
                    "reason": .text("\(error)"),
                    "hint": "commands get 503 until a restart: stop the gateway, restore the last good backup, start it",
                ])
        case .migrating(let from, let to):
            info(
                "store_migrating",
                [
                    "from": .number(from), "to": .number(to),
                    "hint": "it may take minutes; a stop undoes it, and the next start begins anew",
                ])
        case .recovered(let refused): info("store_recovered", ["refused": .number(refused)])
        case .failed(let error, let correlationID):
            self.error("command_failed", ["reason": .text("\(error)"), "correlation_id": .text(correlationID)])
        case .unreadable(let what): self.error("store_unreadable_row", ["reason": .text("cannot read \(what)")])
        case .clock(.jumped(let ahead)):
            self.error(
                "clock_jumped",
                [
                    "ahead_seconds": .number(Int(ahead / 1000)),
                    "hint": .text(
                        "nothing is deleted by age until the clock is right again, has run evenly for 24 hours, or is "
                            + "confirmed: fleetwire trust-clock"),
                ])
        case .clock(.trusted(let reason)): info("clock_trusted", ["reason": .text(reason.rawValue)])
        case .backgroundTaskFailed(let error, let kind):
            warning("background_task_failed", ["kind": .text(kind), "reason": .text("\(error)")])
        case .checkpointFailed(let error): warning("checkpoint_failed", ["reason": .text("\(error)")])
        case .logGrows(let bytes):
            warning(
                "store_log_grows",
                [
                    "bytes": .number(bytes),
                    "hint": "another program reads the store: end its transaction; otherwise the disk is too slow",
                ])
        }
    }
}
