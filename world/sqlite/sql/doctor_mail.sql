-- Mail that came before ?1 though its run is neither paused nor blocked, of the 10,000 oldest rows: how many, since when, for whom. By key.
SELECT n, since, (SELECT id FROM runs WHERE key = run) FROM (
  SELECT count(*) AS n, min(i.arrived_us) AS since, min(i.run) AS run
  FROM (SELECT run, arrived_us FROM inbox ORDER BY row LIMIT 10000) i CROSS JOIN queue q ON q.run = i.run
  WHERE i.arrived_us < ?1 AND q.running AND NOT q.paused AND q.blocked IS NULL)
