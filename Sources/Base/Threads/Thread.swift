import CLinux
import Glibc

/// A named operating-system thread. It owns the state that its body creates: the compiler does not let non-Sendable
/// values leave the thread.
package struct Thread: Sendable {
    private let handle: pthread_t

    /// Starts a thread.
    /// - Parameter name: the name that `top` and debuggers show; at most 15 bytes. A longer name is not set.
    package init(name: String, _ body: @escaping @Sendable () -> Void) {
        var handle = pthread_t()
        let arguments = Unmanaged.passRetained(StartArguments(name: name, body: body))
        let result = pthread_create(&handle, nil, StartArguments.entry, arguments.toOpaque())
        precondition(result == 0, "pthread_create: \(String(cString: strerror(result)))")
        self.handle = handle
    }

    /// Blocks until the body has returned.
    package func join() { pthread_join(handle, nil) }

    private final class StartArguments {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        // The callback is a static member of a nonisolated type. A closure literal in a main-actor context would
        // inherit that isolation, and the runtime's check of it would crash on any other thread.
        static let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
            guard let argument else { return nil }
            let arguments = Unmanaged<StartArguments>.fromOpaque(argument).takeRetainedValue()
            pthread_setname_np(pthread_self(), arguments.name)
            arguments.body()
            return nil
        }
    }
}
