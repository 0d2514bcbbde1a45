-- Runs that a worker ($2) has just claimed have paid the rates that they needed: they need them no more, and others may be
-- let in. By key.
WITH mine AS (
  SELECT q.run, q.places, cardinality(q.places) - q.rates AS stay FROM {schema}.queue q
  WHERE q.run = ANY($1::bigint[]) AND q.owner = $2 AND q.rates > 0 AND q.has >= cardinality(q.places)),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(m.stay + 1, cardinality(m.places)) i WHERE m.places[i] IS NOT NULL)
UPDATE {schema}.queue q SET places = m.places[1:m.stay], has = m.stay, rates = NULL FROM mine m WHERE q.run = m.run
