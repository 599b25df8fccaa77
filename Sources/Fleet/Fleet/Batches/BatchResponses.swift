import JSON
import Primitives

/// The bodies of responses about batches of orders. Existing apps parse those below `/api/delivery`.
extension FleetResponses {
    static func body(of response: BatchAnswer, correlationID: String) -> [UInt8] {
        switch response {
        case .changed(let message, let batch, let notificationIDs):
            success(message, correlationID) {
                $0.member("batch") { batch.writeWhole(to: &$0) }
                $0.member("notificationIds", notificationIDs)
            }
        case .accepted(let batch): message("Batch accepted") { batch.writeAccepted(to: &$0) }
        case .pickedUp(let batch):
            message("Batch picked up") {
                $0.member("batch") {
                    batch.writeName(to: &$0)
                    $0.member("pickedUpAt", time: batch.pickedUpAt)
                }
            }
        case .reported(let batch, let orderID):
            message("Delivery status updated") { batch.writeReport(of: orderID, to: &$0) }
        case .reportedBefore(let body): body
        case .arranged(let batch):
            message("Delivery sequence updated") {
                $0.member("batch") {
                    batch.writeName(to: &$0)
                    $0.member("updatedAt", time: batch.updatedAt)
                }
            }
        case .completed(let batch): message("Batch completed") { batch.writeCompleted(to: &$0) }
        case .read(let view): body(of: view)
        case .opened: success { _ in }
        }
    }

    static func body(of result: BatchResult) -> [UInt8] {
        switch result {
        case .one(let batch): success { $0.member("batch") { batch.writeWhole(to: &$0) } }
        case .available(let entries):
            message("Available batches retrieved") {
                $0.member("batches", entries) { json, entry in json.object { entry.write(to: &$0) } }
            }
        case .read(let view): body(of: view)
        case .summary(let summary, let currency):
            message("Summary retrieved") { summary.writeMembers(currency: currency, to: &$0) }
        }
    }

    private static func body(of view: BatchView) -> [UInt8] {
        switch view {
        case .current(nil):
            message("No active batch") {
                $0.member("batch", nil as String?)
                $0.member("orders", [])
                $0.member("summary") { BatchCounts([]).writeSummary(to: &$0) }
            }
        case .current(let batch?):
            message("Current batch retrieved") {
                $0.member("batch") { batch.writeCurrent(to: &$0) }
                $0.member("orders", batch.listedOrders) { json, order in json.object { order.writeForDriver(to: &$0) } }
                $0.member("summary") { batch.counts.writeSummary(to: &$0) }
            }
        case .details(let batch, let view, let driver):
            message("Batch retrieved") { batch.writeDetails(view, driver, to: &$0) }
        }
    }

    static func body(of state: AvailabilityState, _ message: String) -> [UInt8] {
        self.message(message) {
            $0.member("online", state.isOnline)
            $0.member("since", time: state.since)
        }
    }
}

// MARK: For drivers

extension Batch {
    fileprivate func writeName(to json: inout JSONWriter) {
        json.member("_id", id.text)
        json.member("batchNumber", batchNumber)
        json.member("status", status.rawValue)
    }

    fileprivate func writeAccepted(to json: inout JSONWriter) {
        json.member("batch") {
            writeName(to: &$0)
            $0.member("kitchenId", kitchen?.id.text)
            $0.member("driverId", driver?.accountID.text)
            $0.member("mealWindow", mealWindow?.rawValue)
            $0.member("orderIds", listedOrders.map(\.id.text))
            $0.member("driverAssignedAt", time: driverAssignedAt)
            $0.member("dispatchedAt", time: dispatchedAt)
        }
        json.member("orders", listedOrders) { json, order in
            json.object {
                order.writeName(to: &$0)
                $0.member("deliveryAddress") { order.addressForDriver.writeMembers(to: &$0) }
                $0.member("deliveryInstructions", ifPresent: order.addressForDriver.instructions)
                $0.key("items")
                $0.items(order.items)
                $0.member("sequenceNumber", order.sequenceNumber)
            }
        }
        json.key("pickupAddress")
        if let kitchen { json.address(kitchen.address) } else { json.raw("null") }
    }

    fileprivate func writeCurrent(to json: inout JSONWriter) {
        writeName(to: &json)
        writeKitchen(withPhone: true, as: "kitchenId", to: &json)
        json.member("driverId", driver?.accountID.text)
        json.member("mealWindow", mealWindow?.rawValue)
        writeTotals(to: &json)
        json.member("driverAssignedAt", time: driverAssignedAt)
        json.member("dispatchedAt", time: dispatchedAt)
        if let pickedUpAt { json.member("pickedUpAt", time: pickedUpAt) }
    }

    fileprivate func writeDetails(_ view: View, _ account: Account?, to json: inout JSONWriter) {
        json.member("batch") {
            writeName(to: &$0)
            writeKitchen(withPhone: false, as: "kitchenId", to: &$0)
            $0.key("driverId")
            if let account, view == .whole {
                $0.object {
                    $0.member("_id", account.id.text)
                    $0.member("name", account.registration.name)
                    $0.member("phone", account.phone)
                }
            } else {
                $0.raw("null")
            }
            $0.member("mealWindow", mealWindow?.rawValue)
            writeTotals(to: &$0)
            if let completedAt { $0.member("completedAt", time: completedAt) }
        }
        json.member("orders", listedOrders) { json, order in
            json.object { order.writeForDriver(to: &$0, withCustomer: view == .whole) }
        }
        json.member("assignments", listedOrders.filter { $0.assignment != nil }) { json, order in
            json.object { order.assignment?.writeWhole(of: order, to: &$0) }
        }
    }

    fileprivate func writeReport(of orderID: ObjectID, to json: inout JSONWriter) {
        guard let order = orders.first(where: { $0.id == orderID }) else { return }
        json.member("order") {
            order.writeName(to: &$0)
            order.assignment?.writeEnd(to: &$0)
        }
        json.member("assignment") {
            $0.member("_id", order.assignment?.id.text)
            $0.member("status", order.assignment?.status.rawValue)
            order.assignment?.writeEnd(to: &$0)
            order.assignment?.writeOutcome(to: &$0)
        }
        json.member("batchProgress") {
            $0.member("delivered", counts.delivered)
            $0.member("failed", counts.failed)
            $0.member("total", counts.total)
        }
    }

    fileprivate func writeCompleted(to json: inout JSONWriter) {
        json.member("batch") {
            writeName(to: &$0)
            $0.member("completedAt", time: completedAt)
            writeTotals(to: &$0)
        }
        json.member("summary") {
            $0.member("totalOrders", counts.total)
            $0.member("delivered", counts.delivered)
            $0.member("failed", counts.failed)
        }
    }

    private func writeTotals(to json: inout JSONWriter) {
        json.member("totalDelivered", counts.delivered)
        json.member("totalFailed", counts.failed)
    }

    fileprivate func writeKitchen(withPhone: Bool, as name: StaticString, to json: inout JSONWriter) {
        json.key(name)
        guard let kitchen else { return json.raw("null") }
        json.object {
            $0.member("_id", kitchen.id.text)
            $0.member("name", kitchen.name)
            $0.key("address")
            $0.address(kitchen.address)
            if withPhone { $0.member("phone", kitchen.phone) }
        }
    }

    fileprivate func writeZone(to json: inout JSONWriter) {
        json.key("zone")
        guard let zone else { return json.raw("null") }
        json.object {
            $0.member("_id", zone.id.text)
            $0.member("name", zone.name)
            $0.member("city", zone.city)
        }
    }
}

extension BatchListing.Entry {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("_id", batch.id.text)
        json.member("batchNumber", batch.batchNumber)
        batch.writeKitchen(withPhone: true, as: "kitchen", to: &json)
        batch.writeZone(to: &json)
        json.member("orderCount", orderCount)
        json.member("mealWindow", batch.mealWindow?.rawValue)
        json.member("estimatedEarnings", batch.estimatedEarnings)
        json.member("windowEndTime", time: batch.windowEndTime)
        json.member("createdAt", time: batch.createdAt)
        json.member("distanceKm", ifPresent: distanceKm)
    }
}

extension BatchCounts {
    fileprivate func writeSummary(to json: inout JSONWriter) {
        json.member("totalOrders", total)
        json.member("delivered", delivered)
        json.member("pending", pending)
        json.member("failed", failed)
    }
}

extension DeliverySummary {
    fileprivate func writeMembers(currency: String, to json: inout JSONWriter) {
        json.member("batches", batches)
        json.member("deliveries", deliveries)
        json.member("delivered", delivered)
        json.member("failed", failed)
        json.member("earnings") {
            $0.member("total", total)
            $0.member("base", base)
            $0.member("bonus", bonus)
        }
        json.member("currency", currency)
        json.member("successRate", successRate)
    }
}

extension BatchOrder {
    fileprivate func writeName(to json: inout JSONWriter) {
        json.member("_id", id.text)
        json.member("orderNumber", orderNumber)
        json.member("status", statusWord)
    }

    /// - Parameter withCustomer: false for drivers who have not accepted the batch.
    fileprivate func writeForDriver(to json: inout JSONWriter, withCustomer: Bool = true) {
        writeName(to: &json)
        let address = withCustomer ? addressForDriver : address.withoutCustomer
        json.member("deliveryAddress") { address.writeMembers(to: &$0) }
        json.member("deliveryInstructions", ifPresent: address.instructions)
        json.key("items")
        json.items(items)
        json.member("sequenceNumber", sequenceNumber)
        guard let assignment else { return }
        json.member("assignmentStatus", assignment.status.rawValue)
        assignment.writeEnd(to: &json)
        json.member("failureReason", ifPresent: assignment.failureReason?.rawValue)
    }
}

extension OrderAssignment {
    /// When the order was delivered or failed; nothing before.
    fileprivate func writeEnd(to json: inout JSONWriter) {
        if let deliveredAt { json.member("deliveredAt", time: deliveredAt) }
        if let failedAt { json.member("failedAt", time: failedAt) }
    }

    /// The proof, or why the order failed; nothing before.
    fileprivate func writeOutcome(to json: inout JSONWriter, showsCode: Bool = true) {
        if let proof { json.member("proofOfDelivery") { proof.writeMembers(to: &$0, showsCode: showsCode) } }
        guard let failureReason else { return }
        json.member("failureReason", failureReason.rawValue)
        json.member("failureNotes", notes)
    }

    /// - Parameter showsCode: false for admins: only the customer and the driver know the code.
    fileprivate func writeWhole(of order: BatchOrder, to json: inout JSONWriter, showsCode: Bool = true) {
        json.member("_id", id.text)
        json.member("orderId", order.id.text)
        json.member("status", status.rawValue)
        writeOutcome(to: &json, showsCode: showsCode)
        json.member("assignedAt", time: assignedAt)
        json.member("pickedUpAt", time: pickedUpAt)
        json.member("enRouteAt", time: enRouteAt)
        json.member("arrivedAt", time: arrivedAt)
        writeEnd(to: &json)
    }
}

extension CheckedProof {
    fileprivate func writeMembers(to json: inout JSONWriter, showsCode: Bool) {
        json.member("type", proof.kind.rawValue)
        switch proof {
        case .otp(let digits):
            json.member("otp", showsCode ? digits : "****")
            json.member("otpVerified", isOTPVerified)
        case .signature(let url): json.member("signatureUrl", url)
        case .photo(let url): json.member("photoUrl", url)
        }
        json.member("verifiedAt", time: verifiedAt)
    }
}

// MARK: For admins

extension Batch {
    fileprivate func writeWhole(to json: inout JSONWriter) {
        writeName(to: &json)
        json.member("driverId", driver?.personID.text)
        json.member("version", version)
        json.member("mealWindow", mealWindow?.rawValue)
        json.member("windowEndTime", time: windowEndTime)
        json.member("estimatedEarnings", estimatedEarnings)
        writeKitchen(withPhone: true, as: "kitchen", to: &json)
        writeZone(to: &json)
        json.member("orders", orders) { json, order in json.object { order.writeWhole(to: &$0) } }
        json.member("summary") { counts.writeSummary(to: &$0) }
        json.member("driverAssignedAt", time: driverAssignedAt)
        json.member("dispatchedAt", time: dispatchedAt)
        json.member("pickedUpAt", time: pickedUpAt)
        json.member("completedAt", time: completedAt)
        json.member("createdAt", time: createdAt)
        json.member("updatedAt", time: updatedAt)
    }
}

extension BatchOrder {
    fileprivate func writeWhole(to json: inout JSONWriter) {
        writeName(to: &json)
        json.member("deliveryAddress") { address.writeMembers(to: &$0) }
        json.member("deliveryInstructions", ifPresent: address.instructions)
        json.key("items")
        json.items(items)
        json.member("deliveryOtp", otp == nil ? nil : "****")
        json.member("sequenceNumber", sequenceNumber)
        json.member("customerId", customerID)
        json.key("assignment")
        if let assignment {
            json.object { assignment.writeWhole(of: self, to: &$0, showsCode: false) }
        } else {
            json.raw("null")
        }
        json.member("cancelledAt", time: cancellation?.at)
        json.member("cancelledBy", cancellation?.by.rawValue)
        json.member("cancelReason", cancellation?.reason)
    }
}
