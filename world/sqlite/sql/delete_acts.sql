-- The run is swept.
DELETE FROM acts WHERE run = ?1
