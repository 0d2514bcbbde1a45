-- A wait that listens no more. Primary key of listens.
DELETE FROM listens WHERE run = ?1 AND wait = ?2
