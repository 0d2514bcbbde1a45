-- A run goes on in a new segment. By key.
UPDATE runs SET segment = ?2, trim = max(trim, ?3) WHERE key = ?1
