/// Checks an invariant. A violation ends the run, which the fuzzer records as a crash of its input. Unlike an optimized
/// `precondition`, it prints which invariant.
func invariant(_ holds: Bool, _ text: @autoclosure () -> String) {
    if !holds { fatalError("invariant violated: \(text())") }
}
