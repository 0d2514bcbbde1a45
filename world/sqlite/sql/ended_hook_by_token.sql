-- Who held a token last, where nobody holds it now. Index ended_hooks_token.
SELECT h.run, h.id, r.id FROM ended_hooks h CROSS JOIN runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = ?1 ORDER BY h.key DESC LIMIT 1
