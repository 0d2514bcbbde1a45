-- A piece of a value that a run holds, and whether it is there. By key.
SELECT p.number IS NOT NULL, p.data, p.sum FROM apart a LEFT JOIN apart_pieces p ON p.value = a.value AND p.number = ?3 WHERE a.run = ?1 AND a.value = ?2
