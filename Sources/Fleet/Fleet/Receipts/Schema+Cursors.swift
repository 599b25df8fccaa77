extension Schema {
    /// Version 19: an owner has at most 20 cursors in a channel. Of those that have more, the ones used last stay.
    static let fewCursors = [
        """
        DELETE FROM cursors WHERE (channel, owner, device) IN (SELECT channel, owner, device FROM (SELECT channel, owner, device, \
        ROW_NUMBER() OVER (PARTITION BY channel, owner ORDER BY updated_at DESC, created_at DESC, device) AS place FROM cursors) \
        AS ranked WHERE place > 20)
        """
    ]
}
