-- A new run has the key of its singleton, behind another. By key.
UPDATE queue SET single = ?2, behind = ?3 WHERE run = ?1
