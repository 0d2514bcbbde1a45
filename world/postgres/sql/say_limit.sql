-- Code says another number. By key.
UPDATE {schema}.limits SET said = $2 WHERE name = $1 AND said <> $2
