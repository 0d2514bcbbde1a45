-- What lies before events of runs is not wanted any more: for the sweeper.
INSERT INTO {schema}.trims (run, before) SELECT a.run, a.trim FROM unnest($1::bigint[], $2::bigint[]) a(run, trim) WHERE a.trim > 0 ON CONFLICT DO NOTHING
