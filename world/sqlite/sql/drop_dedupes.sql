-- Forgets the dedupe IDs of a queue.
DELETE FROM dedupes WHERE queue = ?1
