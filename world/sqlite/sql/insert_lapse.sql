-- A run is to begin by a time, or is looked at again then. By key.
INSERT OR REPLACE INTO lapses (due_us, run, ttl) VALUES (?1, ?2, ?3)
