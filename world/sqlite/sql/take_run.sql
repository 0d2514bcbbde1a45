-- A worker takes a run. By key.
UPDATE queue SET owner = ?2, take = take + 1, mail_us = NULL, cancel = 0 WHERE run = ?1 AND owner IS NULL
