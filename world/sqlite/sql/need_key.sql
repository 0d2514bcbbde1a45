-- A run that is created needs a key. By key.
INSERT INTO limit_keys (key, name, text, used, live) VALUES (?1, ?2, ?3, 0, 1) ON CONFLICT (key) DO UPDATE SET live = live + 1
