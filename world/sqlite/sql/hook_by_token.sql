-- Who holds a token. Index hooks_token.
SELECT h.run, h.id, r.id FROM hooks h CROSS JOIN runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = ?1
