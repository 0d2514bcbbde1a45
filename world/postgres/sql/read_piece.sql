-- A piece of a value that a run holds, and whether it is there. Primary keys.
SELECT p.number IS NOT NULL, p.data, p.sum FROM {schema}.apart a LEFT JOIN {schema}.apart_pieces p ON p.value = a.value AND p.number = $3 WHERE a.run = $1 AND a.value = $2
