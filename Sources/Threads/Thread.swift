import CLinux
import Glibc

/// A named operating-system thread. State built inside `body` belongs to it: what is not Sendable cannot leave.
package struct Thread: Sendable {
    private let handle: pthread_t

    /// Starts a thread.
    /// - Parameter name: what `top` and debuggers show; at most 15 characters.
    package init(name: String, _ body: @escaping @Sendable () -> Void) {
        var handle = pthread_t()
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        let result = pthread_create(&handle, nil, Start.entry, start.toOpaque())
        precondition(result == 0, "pthread_create: \(String(cString: strerror(result)))")
        self.handle = handle
    }

    /// Waits until the body has returned.
    package func join() { pthread_join(handle, nil) }

    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        // A static of a nonisolated type: a C callback written as a literal in a main-actor context crashes elsewhere.
        static let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
            guard let argument else { return nil }
            let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
            pthread_setname_np(pthread_self(), start.name)
            start.body()
            return nil
        }
    }
}
