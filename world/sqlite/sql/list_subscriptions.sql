-- All subscriptions, by name.
SELECT name, said, sum FROM subscriptions ORDER BY name
