extension Schema {
    /// Version 15: sign-in of customers by a code to the phone.
    static let codes = [
        // A sign-in that has begun (`SignInCodeSession`). `digest` is that of the present code under the key `key_id`, `answer`
        // the encrypted response to the right code, for a repetition of the request.
        """
        CREATE TABLE code_sessions (
            id TEXT NOT NULL PRIMARY KEY, phone TEXT NOT NULL, delivery TEXT NOT NULL, send_id TEXT NOT NULL,
            sends BIGINT NOT NULL, sent_at BIGINT NOT NULL, tries_left BIGINT NOT NULL, verified_at BIGINT,
            key_id TEXT NOT NULL, digest BLOB NOT NULL, answer BLOB, answer_key_id TEXT)
        """,
        "CREATE INDEX code_sessions_by_phone ON code_sessions (phone, sent_at)",
        "CREATE INDEX code_sessions_by_age ON code_sessions (sent_at)",
        "CREATE INDEX code_sessions_verified ON code_sessions (verified_at) WHERE verified_at IS NOT NULL",
        "CREATE INDEX code_sessions_sending ON code_sessions (id) WHERE delivery = 'sending'",
        // The SMS of the last day, for the limits: of a phone, and of all phones.
        "CREATE TABLE code_sends (id TEXT NOT NULL PRIMARY KEY, phone TEXT NOT NULL, at BIGINT NOT NULL)",
        "CREATE INDEX code_sends_by_phone ON code_sends (phone, at)",
        "CREATE INDEX code_sends_by_age ON code_sends (at)",
        // The wrong codes of the last day, for the limit of a phone.
        "CREATE TABLE code_tries (id TEXT NOT NULL PRIMARY KEY, phone TEXT NOT NULL, at BIGINT NOT NULL)",
        "CREATE INDEX code_tries_by_phone ON code_tries (phone, at)",
        "CREATE INDEX code_tries_by_age ON code_tries (at)",
        // The accounts. `email_key` is the address in lower case.
        """
        CREATE TABLE customers (
            id BIGINT NOT NULL PRIMARY KEY, phone TEXT NOT NULL UNIQUE, name TEXT, email TEXT, email_key TEXT UNIQUE,
            payment_token TEXT, card_brand TEXT, card_last4 TEXT, expiry_month BIGINT, expiry_year BIGINT,
            created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, last_login_at BIGINT NOT NULL)
        """,
        // One row: the id of the next account. It outlives the accounts, so that no id is given twice.
        "CREATE TABLE customer_ids (next BIGINT NOT NULL)",
        "INSERT INTO customer_ids (next) VALUES (10000)",
        // Tokens that are refused (`EndedTokens`), until they cannot be refreshed any more.
        "CREATE TABLE ended_tokens (id TEXT NOT NULL PRIMARY KEY, until BIGINT NOT NULL)",
        "CREATE INDEX ended_tokens_by_end ON ended_tokens (until)",
    ]
}
