-- The last hook that had a token and is over. Index ended_hooks_token.
SELECT h.id, r.id, h.token, h.metadata, h.created_at
FROM {schema}.ended_hooks h JOIN {schema}.runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = $1 ORDER BY h.key DESC LIMIT 1
