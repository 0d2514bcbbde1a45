-- The run goes on in a new segment; hooks that are not named (JSON array of IDs) are over. Index hooks_run.
DELETE FROM hooks WHERE run = ?1 AND id NOT IN (SELECT value FROM json_each(?2))
