-- Code says another number for a limit that is there. By key.
UPDATE limits SET said = ?2 WHERE name = ?1 AND said <> ?2
