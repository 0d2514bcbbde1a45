-- Keeps the number of a run's next event, by a row of no events, unless that was done. It waits for whoever writes there at this moment, and
-- returns nothing where that became durable. Index log_run.
INSERT INTO {schema}.log (run, seq, n, format, head, body)
SELECT l.run, least(l.seq, 4611686018427387904) + greatest(l.n, 1), 0, $2::smallint, '', ''
FROM (SELECT run, seq, n FROM {schema}.log WHERE run = $1::bigint ORDER BY seq DESC LIMIT 1) l WHERE l.n <> 0
ON CONFLICT (run, seq) DO NOTHING RETURNING seq
