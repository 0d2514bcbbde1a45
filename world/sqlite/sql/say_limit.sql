-- Code says something else of a limit that is there. By key.
UPDATE limits SET said = ?2, per_ns = ?3, burst = ?4, runs = runs OR ?5, steps = steps OR ?6, messages = messages OR ?7
WHERE name = ?1 AND (said <> ?2 OR per_ns <> ?3 OR burst <> ?4 OR runs < ?5 OR steps < ?6 OR messages < ?7)
