-- An ID stands for a key from now on, unless it does for one. By key.
INSERT INTO keys (id, print) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING
