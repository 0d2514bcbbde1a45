-- An operator says a number, or that code's holds again. By key.
UPDATE {schema}.limits SET number = $2 WHERE name = $1
