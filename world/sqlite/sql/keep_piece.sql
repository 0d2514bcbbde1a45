-- A piece of a value that is kept apart, perhaps once more. By key.
INSERT INTO apart_pieces (value, number, data, sum) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (value, number) DO UPDATE SET data = excluded.data, sum = excluded.sum
