-- Lanes of workers that are gone.
DELETE FROM lanes WHERE worker = ?1
