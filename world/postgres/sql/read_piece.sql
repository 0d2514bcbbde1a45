-- A piece of a value that a run holds. Primary keys.
SELECT p.data, p.sum FROM {schema}.apart a JOIN {schema}.apart_pieces p ON p.value = a.value WHERE a.run = $1 AND a.value = $2 AND p.number = $3
