-- Forgets dedupe IDs whose window is over. Index dedupes_until.
DELETE FROM dedupes WHERE until_us <= ?1
