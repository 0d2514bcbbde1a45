-- The active hook with a token. Index hooks_token.
SELECT h.id, r.id, h.token, h.metadata, h.created_at
FROM {schema}.hooks h JOIN {schema}.runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = $1
