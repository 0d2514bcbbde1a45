-- A piece of a value that a run holds. By key.
SELECT p.data, p.sum FROM apart a JOIN apart_pieces p ON p.value = a.value WHERE a.run = ?1 AND a.value = ?2 AND p.number = ?3
