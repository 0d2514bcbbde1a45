-- A rate is another from now on: the turns of its keys are what they would be by that (?2 to ?5: see package rules). Index limit_keys_name.
UPDATE limit_keys SET turn_ns = ?3 + CASE WHEN turn_ns <= ?2 THEN turn_ns - ?2 ELSE CAST(min((turn_ns - ?2) * ?5 + 1, CAST(?4 AS REAL)) AS INTEGER) END
WHERE name = ?1 AND turn_ns > 0
