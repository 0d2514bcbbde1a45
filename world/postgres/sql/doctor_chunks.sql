-- The 10,000 newest batches of streams: how many are of no run; how many overlap with the one before, or leave a gap though nothing was made void;
-- and a run that has such. Indexes chunks_pkey, runs_pkey.
SELECT count(*) FILTER (WHERE r.key IS NULL),
       count(*) FILTER (WHERE c.behind > c.idx OR c.behind < c.idx AND NOT c.voided),
       coalesce(min(r.id) FILTER (WHERE c.behind > c.idx OR c.behind < c.idx AND NOT c.voided), '')
FROM (SELECT run, idx, lag(idx::numeric + n) OVER (PARTITION BY run, stream ORDER BY idx) AS behind, bool_or(kind = 'reset') OVER (PARTITION BY run, stream) AS voided
      FROM (SELECT run, stream, idx, n, kind FROM {schema}.chunks ORDER BY run DESC, stream DESC, idx DESC LIMIT 10000) newest) c
LEFT JOIN {schema}.runs r ON r.key = c.run
