-- A value that no event of its run names. By key.
DELETE FROM apart WHERE run = ?1 AND value = ?2 AND at_us IS NOT NULL
