-- Makes a queue, or says anew what holds for it.
INSERT INTO queues (name, visibility_ns, max_receives) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET visibility_ns = ?2, max_receives = ?3
