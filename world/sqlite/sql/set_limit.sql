-- An operator changes the number of a limit; null: that of the code holds.
UPDATE limits SET number = ?2 WHERE name = ?1
