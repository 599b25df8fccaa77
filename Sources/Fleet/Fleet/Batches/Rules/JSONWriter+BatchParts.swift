import JSON

// The parts of batches as JSON, with the names that apps use. The store keeps kitchens and items in the same form.

extension JSONWriter {
    package mutating func address(_ address: KitchenAddress) {
        object { address.writeMembers(to: &$0) }
    }

    /// An order's items as an array.
    package mutating func items(_ items: [OrderItem]) {
        array(items) { json, item in
            json.object {
                $0.member("menuItemId", item.menuItemID)
                $0.member("name", item.name)
                $0.member("quantity", item.quantity)
                $0.member("price", item.price)
            }
        }
    }
}
