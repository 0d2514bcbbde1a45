-- Runs are over, and give back all their places. By key; the rows are locked, and deleted next.
INSERT INTO {schema}.limit_news (key, kind)
SELECT q.places[i], 0 FROM {schema}.queue q CROSS JOIN generate_series(1, q.has) i WHERE q.run = ANY($1::bigint[]) AND q.places[i] IS NOT NULL
