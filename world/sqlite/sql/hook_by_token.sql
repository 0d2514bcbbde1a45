-- Who holds a token, be it a run whose row is lost. Index hooks_token.
SELECT h.run, h.id, coalesce(r.id, 'lost_run_' || h.run) FROM hooks h LEFT JOIN runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = ?1
