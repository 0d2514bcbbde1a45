-- Code says the weight of a key.
INSERT INTO limit_weights (name, text, weight) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
