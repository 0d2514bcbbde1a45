-- Code says something else of a limit that is there. By key.
UPDATE limits SET said = ?2, per_ns = ?3, burst = ?4 WHERE name = ?1 AND (said <> ?2 OR per_ns <> ?3 OR burst <> ?4)
