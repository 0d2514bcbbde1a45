-- The logs of runs: commits, and what is trimmed of them.

-- name: insert_log
-- Commits, one row each. A number that is taken fails: index log_run.
INSERT INTO {schema}.log (run, seq, n, format, head, body, sum)
SELECT a.run, a.seq, a.n, $4::smallint, a.head, a.body, a.sum
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $5::text[], $6::bytea[], $7::integer[]) a(run, seq, n, head, body, sum)

-- name: read_log
-- The log of a run from the commit that holds the event after $2 on: the commits that begin with one of the next $3 events, or, where those were trimmed, of
-- as many from the next that is there on; and whether there are others behind them. A row without a commit where there is none. Indexes runs_id, log_run.
SELECT r.created_at, r.trim, EXISTS (SELECT FROM {schema}.log m WHERE m.run = r.key AND m.seq > w.last),
       l.seq, l.n, l.format, l.head, l.body, l.sum
FROM {schema}.runs r CROSS JOIN LATERAL (
  SELECT $3::bigint + CASE WHEN r.trim <= $2::bigint THEN $2::bigint ELSE greatest($2::bigint, (
    SELECT g.seq - 1 FROM {schema}.log g WHERE g.run = r.key AND g.seq > $2::bigint ORDER BY g.seq LIMIT 1)) END AS last OFFSET 0) w
LEFT JOIN LATERAL (
  SELECT seq, n::bigint, format, head, body, sum FROM {schema}.log
  WHERE run = r.key AND seq <= w.last
    AND seq >= coalesce((SELECT f.seq FROM {schema}.log f WHERE f.run = r.key AND f.seq <= $2::bigint + 1 ORDER BY f.seq DESC LIMIT 1), 0)
  ORDER BY seq LIMIT $3::bigint + 1) l ON true
WHERE r.ns = 0 AND r.id = $1

-- name: last_head
-- The last commit of a run, whole. Index log_run.
SELECT seq, format, head, body, sum FROM {schema}.log WHERE run = $1::bigint ORDER BY seq DESC LIMIT 1

-- name: row_at
-- The commit of a run that begins at a number. Index log_run.
SELECT format, head, body, sum FROM {schema}.log WHERE run = $1::bigint AND seq = $2::bigint

-- name: reserve_number
-- Keeps the number of a run's next event, by a row of no events, unless that was done. It waits for whoever writes there at this moment, and
-- returns nothing where that became durable. Index log_run.
INSERT INTO {schema}.log (run, seq, n, format, head, body)
SELECT l.run, least(l.seq, 4611686018427387904) + greatest(l.n, 1), 0, $2::smallint, '', ''
FROM (SELECT run, seq, n FROM {schema}.log WHERE run = $1::bigint ORDER BY seq DESC LIMIT 1) l WHERE l.n <> 0
ON CONFLICT (run, seq) DO NOTHING RETURNING seq

-- name: free_number
-- Removes the row of reserve_number: until the transaction ends, nobody else gets the number all the same. Index log_run.
DELETE FROM {schema}.log WHERE run = $1::bigint AND seq = $2::bigint AND n = 0

-- name: pauses
-- The commits of a run that may have a pause, or the end of one, the first first. Index log_run.
SELECT seq, format, head, body, sum FROM {schema}.log
WHERE run = $1::bigint AND (strpos(head, '"run_paused"') > 0 OR strpos(head, '"run_resumed"') > 0 OR strpos(head, '"cancel_requested"') > 0 OR strpos(head, '"run_continued"') > 0) ORDER BY seq

-- name: trim_log
-- Some commits of a run, at most $4, between its first and the one at $2 go; those that hold an event that is named stay. Index log_run.
DELETE FROM {schema}.log WHERE run = $1::bigint AND seq = ANY (ARRAY(
  SELECT l.seq FROM {schema}.log l WHERE l.run = $1::bigint AND l.seq > 1 AND l.seq < $2::bigint
    AND l.seq <> ALL (ARRAY(
      SELECT (SELECT k.seq FROM {schema}.log k WHERE k.run = $1::bigint AND k.seq <= s.seq ORDER BY k.seq DESC LIMIT 1) FROM unnest($3::bigint[]) s(seq)))
  ORDER BY l.seq LIMIT $4::bigint))

-- name: trim_answers
-- Answers to webhooks' requests of segments before the one at $2 go, at most $3, and their streams with them. Index chunks_pkey.
DELETE FROM {schema}.chunks WHERE ctid = ANY (ARRAY(
  SELECT g.ctid FROM (SELECT DISTINCT stream FROM {schema}.chunks WHERE run = $1::bigint AND stream LIKE 'webhook/%') s
  JOIN {schema}.chunks g ON g.run = $1::bigint AND g.stream = s.stream
  WHERE g.segment < $2::bigint LIMIT $3::bigint))

-- name: insert_trims
-- What lies before events of runs is not wanted any more: for the sweeper.
INSERT INTO {schema}.trims (run, before) SELECT a.run, a.trim FROM unnest($1::bigint[], $2::bigint[]) a(run, trim) WHERE a.trim > 0 ON CONFLICT DO NOTHING

-- name: due_trims
-- Runs of which something is not wanted any more, with the commit that it lies before; what another process trims is left to it. By key; index log_run.
SELECT t.run, t.before, r.id, r.created_at, l.seq, l.format, l.head, l.body, l.sum FROM {schema}.trims t
LEFT JOIN {schema}.runs r ON r.key = t.run
LEFT JOIN LATERAL (
  SELECT seq, format, head, body, sum FROM {schema}.log WHERE run = t.run AND seq <= t.before ORDER BY seq DESC LIMIT 1) l ON true
ORDER BY t.run, t.before LIMIT $1 FOR UPDATE OF t SKIP LOCKED

-- name: delete_trims
-- What was not wanted of a run is gone. By key.
DELETE FROM {schema}.trims WHERE run = $1::bigint AND before <= $2::bigint
