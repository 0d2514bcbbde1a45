-- A wait that has looked back. Primary key of listens.
UPDATE listens SET back_us = NULL WHERE run = ?1 AND wait = ?2
