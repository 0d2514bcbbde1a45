-- One delivery was appended or dropped. By row.
DELETE FROM inbox WHERE row = ?1 AND run = ?2 RETURNING payload
