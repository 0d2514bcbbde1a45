-- When the first key of a rate is to be looked at. Index limit_keys_due.
SELECT due_us FROM limit_keys WHERE due_us IS NOT NULL ORDER BY due_us LIMIT 1
