-- Ends a subscription.
DELETE FROM {schema}.subscriptions WHERE name = $1
