-- A run is swept.
DELETE FROM chunks WHERE run = ?1
