-- Whether the owner marked the run full. By key.
SELECT full FROM queue WHERE run = ?1
