-- An input that a run was given has the idempotency key of its start. Primary key.
UPDATE delivered SET workflow = ?3, idem = ?4 WHERE run = ?1 AND key = ?2
