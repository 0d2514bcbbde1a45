-- The hook that has a token. Index hooks_token.
SELECT h.id, r.id, h.token, h.metadata, h.created_us FROM hooks h CROSS JOIN runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = ?1
