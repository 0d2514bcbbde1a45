-- A new run has the key of its singleton. By key.
UPDATE queue SET single = ?2 WHERE run = ?1
