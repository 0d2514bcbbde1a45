-- A wait that has looked back. Primary key of listens.
UPDATE listens SET back_us = NULL, match = NULL WHERE run = ?1 AND wait = ?2
