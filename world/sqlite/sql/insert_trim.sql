-- What lies before an event of a run is not wanted any more: for the sweeper.
INSERT INTO trims (run, before) VALUES (?1, ?2) ON CONFLICT DO NOTHING
