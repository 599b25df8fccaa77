import Glibc

/// A file that the configuration names, or the configuration itself, as far as others must not write or read it.
package struct SettingsFile: Equatable, Sendable {
    /// The path of the key whose value it contains or is; "" for the configuration as a whole.
    package let key: String
    package let path: String
    /// Whether who reads it learns a secret.
    package var isSecret: Bool

    package init(key: String, path: String, isSecret: Bool) {
        self.key = key
        self.path = path
        self.isSecret = isSecret
    }
}

/// Who may use a file, as far as its mode says.
package struct FilePermissions: Equatable, Sendable {
    package let mode: UInt32
    package let group: UInt32

    package init(mode: UInt32, group: UInt32) {
        self.mode = mode
        self.group = group
    }

    /// Those of a file, or of what a symbolic link refers to; nil if it is gone.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(mode: status.st_mode & 0o7777, group: status.st_gid)
    }

    /// The groups of this process, and root's.
    package static var ownGroups: Set<UInt32> {
        let count = getgroups(0, nil)
        var groups = [gid_t](repeating: 0, count: Int(max(count, 0)))
        let found = getgroups(count, &groups)
        return Set(groups.prefix(Int(max(found, 0)))).union([0, getgid(), getegid()])
    }

    /// How to take from everybody and from a foreign group the right to write; nil if they do not have it.
    func writersRemedy(_ ownGroups: Set<UInt32>) -> String? {
        var classes = ""
        if mode & 0o020 != 0, !ownGroups.contains(group) { classes += "g" }
        if mode & 0o002 != 0 { classes += "o" }
        return classes.isEmpty ? nil : "chmod \(classes)-w"
    }

    /// Whether everybody may read the file.
    var isReadableByAll: Bool { mode & 0o004 != 0 }

    /// The mode in octal digits, as `chmod` takes it.
    var octal: String { "0" + String(mode, radix: 8) }
}
