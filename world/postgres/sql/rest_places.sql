-- Runs that are not to be claimed now leave their line, and give back what they do not keep until their end. Those that
-- have begun need nothing of rates. By key; the rows are locked.
WITH mine AS (
  SELECT q.run, q.places, q.has, CASE WHEN q.running THEN q.rates END AS paid, least(q.has, CASE WHEN q.running THEN q.keeps ELSE 0 END) AS keep
  FROM {schema}.queue q WHERE q.run = ANY($1::bigint[]) AND q.places IS NOT NULL),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(m.keep + 1, m.has) i WHERE m.places[i] IS NOT NULL)
UPDATE {schema}.queue q SET has = m.keep, parked_at = NULL,
  places = CASE WHEN m.paid > 0 THEN m.places[1:cardinality(m.places) - m.paid] ELSE m.places END, rates = CASE WHEN m.paid > 0 THEN NULL ELSE q.rates END FROM mine m WHERE q.run = m.run
