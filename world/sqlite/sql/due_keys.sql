-- Keys of rates that are to be looked at. Index limit_keys_due.
SELECT key FROM limit_keys WHERE due_us <= ?1 ORDER BY due_us LIMIT ?2
