-- A run gives its idempotency key back. By key.
UPDATE runs SET idem = NULL WHERE key = ?1
