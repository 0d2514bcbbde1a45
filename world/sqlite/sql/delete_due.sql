-- A publication was spread.
DELETE FROM due WHERE publication = ?1
