-- The weights of keys of all limits: those few that code says.
SELECT name, text, weight FROM limit_weights ORDER BY name, text
