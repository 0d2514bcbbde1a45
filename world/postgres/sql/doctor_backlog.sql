-- What housekeeping has left: runs whose retention ended over an hour ago (at most 10,000 are counted), and changes of totals. Index runs_sweep.
SELECT (SELECT count(*) FROM (SELECT FROM {schema}.runs WHERE sweep_at < clock_timestamp() - interval '1 hour' LIMIT 10000) r),
       (SELECT count(*) FROM {schema}.totals)
