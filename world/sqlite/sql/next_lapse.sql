-- When the first run is to have begun. By key.
SELECT due_us FROM lapses ORDER BY due_us LIMIT 1
