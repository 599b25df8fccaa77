extension PackedData {
    /// The names of fields that have codes. The number of a name is its place: add further names at the end only, because
    /// stored data has the numbers. The first 26 take one byte where most of them stand, between two texts.
    static let fields = [
        "bookingId", "bookingReference", "orderRef", "customerName", "pickupAddress", "dropoffAddress", "scheduledAt",
        "message", "driverId", "driverName", "reason", "timestamp", "step", "type", "batchId", "batchNumber", "routeId",
        "routeNumber", "status", "orderId", "removedAt", "availableAt", "title", "text", "eta", "reference",
        "totalGBP", "latitude", "longitude", "notes", "name", "license_plate", "vehicle_make", "vehicle_model",
        "vehicle_color", "vehicleNumber", "vehicleType", "phone", "phoneNumber", "dropId", "dropsCount", "bookingsCount",
        "earningsAdjustment", "cancelledBy", "zone", "waiting_since", "waiting_minutes", "eta_minutes", "version", "types",
        "totalOrders", "state", "orderNumber", "orderCount", "online", "failureReason", "failed", "driver_id", "driver_name",
        "distanceMetres", "delivered", "customerId", "createdAt", "completed_at", "at", "estimatedEarnings", "kitchen",
        "zoneName", "mealWindow", "windowEndsAt", "acceptedAt", "pickedUpAt", "deliveredAt", "assignedAt", "body", "url",
        "imageUrl", "id", "data", "priority", "address", "city", "pincode", "area", "accountId", "email",
    ]

    /// The texts that have codes, in the same way.
    static let texts = [
        "New job assigned to you", "New route assigned to you", "New batch assigned to you",
        "A drop has been removed from your route", "Batch has been cancelled by admin",
        "Order has been removed from your schedule by admin", "Route has been cancelled by admin",
        "Route unassigned by admin", "This job has been cancelled and is no longer available", "This job has been reassigned",
        "This job has been removed from your active jobs", "This job is now available again", "This job is now available",
        "You have been removed from this job", "Your assigned job has been cancelled", "Your driver has been changed",
        "Reassigned to another driver", "order_removed", "booking_cancelled", "driver_changed", "completed", "cancelled",
        "accepted", "assigned", "en_route", "arrived", "in_transit", "Tracking stopped: the trip is complete",
        "Tracking stopped due to booking cancellation", "Tracking stopped: your driver has changed",
    ]
}
