-- A delivery that was refused after all. Primary key.
DELETE FROM delivered WHERE run = ?1 AND key = ?2
