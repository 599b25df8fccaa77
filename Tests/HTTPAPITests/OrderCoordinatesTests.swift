import Fleet
import HTTP
import JSON
import Primitives
import Testing

/// The coordinates of an order in request bodies: pairs of numbers in range.
@Suite struct OrderCoordinatesTests {
    /// Every request that reads an order's fields.
    private static let calls: [(method: HTTPRequest.Method, path: String)] =
        ["assign-driver", "unassign", "cancel-enhanced", "remove-driver"].map {
            (.post, "/api/admin/orders/A1/" + $0)
        } + [(.put, "/api/admin/orders/A1")]

    private static func changes(_ action: (any Command)?) -> OrderChanges? {
        (action as? OrderAction)?.changes
    }

    @Test func everyRequestAboutAnOrderReadsBothPairs() throws {
        let body = """
            {"driverId":"42","pickupLatitude":51.50740,"pickupLongitude":-1.278e-1,"dropoffLatitude":-90,"dropoffLongitude":180.0}
            """
        for call in Self.calls {
            let changes = try #require(Self.changes(FleetCall(call.method, call.path, body).action), "\(call.path)")
            #expect(changes.pickupCoordinates == .set(place("51.50740", "-1.278e-1")))
            #expect(changes.dropoffCoordinates == .set(place("-90", "180.0")))
        }
    }

    private func place(_ latitude: String, _ longitude: String) -> Coordinates {
        Coordinates(latitude: JSONNumber(text: latitude), longitude: JSONNumber(text: longitude))
    }

    @Test(arguments: ["pickup", "dropoff"]) func twoNullsClearAPairAndNoMembersKeepIt(place: String) throws {
        let body = #"{"\#(place)Latitude":null,"\#(place)Longitude":null}"#
        let changes = try #require(Self.changes(FleetCall(.put, "/api/admin/orders/A1", body).action))
        #expect(changes.pickupCoordinates == (place == "pickup" ? .clear : .keep))
        #expect(changes.dropoffCoordinates == (place == "pickup" ? .keep : .clear))
    }

    /// Each row: the two members, nil for one that is absent; the field that the error names, and what is expected.
    private static let halves: [(latitude: String?, longitude: String?, field: String, expectation: String)] = [
        ("1", nil, "Longitude", ": a number is required"), (nil, "1", "Latitude", ": a number is required"),
        ("1", "null", "Longitude", ": a number is required"), ("null", "1", "Latitude", ": a number is required"),
        ("null", nil, "Longitude", #" to be null, like "xLatitude""#),
        (nil, "null", "Latitude", #" to be null, like "xLongitude""#),
        ("91", nil, "Latitude", " to be from -90 to 90"), ("-90.0001", "0", "Latitude", " to be from -90 to 90"),
        ("0", "180.1", "Longitude", " to be from -180 to 180"), ("0", "-1e3", "Longitude", " to be from -180 to 180"),
        (#""1""#, "0", "Latitude", " to be a number"), ("0", "[0]", "Longitude", " to be a number"),
        ("1e999", "0", "Latitude", " to be a number"), ("true", "0", "Latitude", " to be a number"),
    ]

    @Test(arguments: ["pickup", "dropoff"]) func rejectsHalvesAndOtherValues(place: String) {
        for row in Self.halves {
            let members = [
                row.latitude.map { #""\#(place)Latitude":\#($0)"# }, row.longitude.map { #""\#(place)Longitude":\#($0)"# },
            ].compactMap(\.self)
            let expected = "400 Expected \"\(place)\(row.field)\"" + row.expectation.replacing(#""x"#, with: "\"" + place)
            for call in Self.calls {
                let body = "{" + ([#""driverId":"42""#] + members).joined(separator: ",") + "}"
                #expect(FleetCall(call.method, call.path, body).refusal == expected, "\(call.path) \(body)")
            }
        }
    }

    @Test func theExtremesAreAccepted() {
        for (latitude, longitude) in [("90", "180"), ("-90", "-180"), ("0", "-0"), ("90.0", "1.8e2")] {
            let body = #"{"pickupLatitude":\#(latitude),"pickupLongitude":\#(longitude)}"#
            let changes = Self.changes(FleetCall(.put, "/api/admin/orders/A1", body).action)
            #expect(changes?.pickupCoordinates == .set(place(latitude, longitude)))
        }
    }
}
