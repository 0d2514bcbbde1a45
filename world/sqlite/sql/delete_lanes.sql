-- A worker is dead, or gone.
DELETE FROM lanes WHERE worker = ?1
