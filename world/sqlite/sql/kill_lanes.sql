-- A worker is dead, or gone.
UPDATE lanes SET alive = 0 WHERE worker = ?1
