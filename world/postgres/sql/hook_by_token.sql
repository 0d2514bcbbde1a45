-- Who holds a token. Index hooks_token.
SELECT h.run, h.id, r.id FROM {schema}.hooks h JOIN {schema}.runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = $1::text
