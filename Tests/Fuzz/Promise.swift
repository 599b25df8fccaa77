/// Ends the run, and so makes the input a crash, unless a promise holds. An optimized `precondition` would not say which.
func promise(_ holds: Bool, _ text: @autoclosure () -> String) {
    if !holds { fatalError("broken promise: \(text())") }
}
