-- Who owns a run, under which claim, and what released it last. By key.
SELECT w.id, q.take, q.released FROM queue q LEFT JOIN workers w ON w.key = q.owner WHERE q.run = ?1
