-- Subscriptions or the cut have changed.
INSERT INTO spreading (key, revision, cut) VALUES (1, ?1, ?2) ON CONFLICT (key) DO UPDATE SET revision = ?1, cut = ?2
