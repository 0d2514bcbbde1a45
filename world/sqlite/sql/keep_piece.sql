-- A piece of a value that is kept apart; what comes again is the same. By key.
INSERT INTO apart_pieces (value, number, data, sum) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (value, number) DO NOTHING
