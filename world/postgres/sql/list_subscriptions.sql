-- All subscriptions, by name.
SELECT name, said, sum FROM {schema}.subscriptions ORDER BY name COLLATE "C"
