-- A run that the queue has a worker own (?2), which does not know of it, gets another owner: nobody, to be buried. By key.
UPDATE queue SET owner = ?3 WHERE run = ?1 AND owner = ?2
